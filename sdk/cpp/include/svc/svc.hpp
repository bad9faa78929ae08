/// Everything of the library.
#pragma once

#include "svc/client.hpp"
#include "svc/errors.hpp"
#include "svc/instrumentation.hpp"
#include "svc/log_stream.hpp"
#include "svc/settings.hpp"
#include "svc/span.hpp"
#include "svc/step.hpp"
#include "svc/version.hpp"
#include "svc/watch.hpp"
#include "svc/wire.hpp"
#include "svc/worker.hpp"
#include "svc/workflow.hpp"
