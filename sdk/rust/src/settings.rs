use std::fmt;

use crate::http::Endpoint;

pub(crate) const DEFAULT_ENDPOINT: &str = "http://127.0.0.1:4317";

/// What code sets; the rest comes from `SVC_*`. No `Debug`: it may hold a key.
#[derive(Clone, Default)]
pub(crate) struct Overrides {
    pub(crate) endpoint: Option<String>,
    pub(crate) api_key: Option<String>,
    pub(crate) project: Option<String>,
    pub(crate) environment: Option<String>,
    pub(crate) service_name: Option<String>,
    pub(crate) service_version: Option<String>,
    pub(crate) sample: Option<f64>,
    pub(crate) enabled: Option<bool>,
}

/// Where the service is and who calls.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) endpoint: Endpoint,
    pub(crate) api_key: Option<String>,
    pub(crate) project: Option<String>,
    pub(crate) environment: Option<String>,
    pub(crate) service_name: Option<String>,
    pub(crate) service_version: Option<String>,
    pub(crate) sample: f64,
    pub(crate) enabled: bool,
    /// What could not be used, and what is used instead. Never holds a key.
    pub(crate) problems: Vec<String>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Settings")
            .field("endpoint", &self.endpoint.shown())
            .field("project", &self.project)
            .finish_non_exhaustive()
    }
}

impl Settings {
    pub(crate) fn from_env(code: Overrides) -> Self {
        Self::read(code, |name| std::env::var(name).ok())
    }

    /// Code wins over the environment. An empty text counts as absent. What cannot be used falls back to its default
    /// and is named in `problems`.
    pub(crate) fn read(code: Overrides, variable: impl Fn(&str) -> Option<String>) -> Self {
        let mut problems = Vec::new();
        let text = |given: Option<String>, name: &str| given.or_else(|| variable(name)).filter(|text| !text.is_empty());

        let endpoint = text(code.endpoint, "SVC_ENDPOINT").and_then(|given| {
            let read = Endpoint::parse(&given);
            if read.is_none() {
                problems.push(format!(
                    "endpoint {:?} is not an http or https URL; {DEFAULT_ENDPOINT} is used",
                    without_user(&given)
                ));
            }
            read
        });

        let api_key = text(code.api_key, "SVC_API_KEY").filter(|key| {
            let fits = key.bytes().all(|byte| matches!(byte, b' '..=b'~'));
            if !fits {
                problems.push("api_key holds characters that a header cannot carry; none is used".to_owned());
            }
            fits
        });

        let given = match code.sample {
            Some(fraction) => Some((fraction, fraction.to_string())),
            None => text(None, "SVC_SAMPLE").map(|words| (words.trim().parse().unwrap_or(f64::NAN), words)),
        };
        let sample = match given {
            Some((fraction, _)) if (0.0..=1.0).contains(&fraction) => fraction,
            Some((_, words)) => {
                problems.push(format!("sample {words} is not between 0 and 1; 1 is used"));
                1.0
            }
            None => 1.0,
        };

        Self {
            endpoint: endpoint.unwrap_or_default(),
            api_key,
            project: text(code.project, "SVC_PROJECT"),
            environment: text(code.environment, "SVC_ENVIRONMENT"),
            service_name: text(code.service_name, "SVC_SERVICE_NAME"),
            service_version: text(code.service_version, "SVC_SERVICE_VERSION"),
            sample,
            enabled: code
                .enabled
                .unwrap_or_else(|| !variable("SVC_ENABLED").is_some_and(|on| on.trim().eq_ignore_ascii_case("false"))),
            problems,
        }
    }
}

/// A URL as it may be shown: what stands before an `@` may be a password.
fn without_user(url: &str) -> &str {
    url.rsplit_once('@').map_or(url, |(_, rest)| rest)
}

/// The setters that builders share.
macro_rules! setting_methods {
    () => {
        /// Where the service is; `SVC_ENDPOINT`, else `http://127.0.0.1:4317`.
        pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
            self.code.endpoint = Some(endpoint.into());
            self
        }

        /// Sent as a bearer token, and shown nowhere; `SVC_API_KEY`, else none.
        pub fn api_key(mut self, key: impl Into<String>) -> Self {
            self.code.api_key = Some(key.into());
            self
        }

        /// What runs and signals belong to; `SVC_PROJECT`, else that of the key.
        pub fn project(mut self, project: impl Into<String>) -> Self {
            self.code.project = Some(project.into());
            self
        }
    };
}
pub(crate) use setting_methods;

/// The setters of what also records signals.
macro_rules! signal_setting_methods {
    () => {
        /// Goes with every signal; `SVC_ENVIRONMENT`.
        pub fn environment(mut self, environment: impl Into<String>) -> Self {
            self.code.environment = Some(environment.into());
            self
        }

        /// Goes with every signal; `SVC_SERVICE_NAME`.
        pub fn service_name(mut self, name: impl Into<String>) -> Self {
            self.code.service_name = Some(name.into());
            self
        }

        /// Goes with every signal; `SVC_SERVICE_VERSION`.
        pub fn service_version(mut self, version: impl Into<String>) -> Self {
            self.code.service_version = Some(version.into());
            self
        }

        /// The fraction of traces to send, from 0 to 1; `SVC_SAMPLE`, else 1.
        pub fn sample(mut self, fraction: f64) -> Self {
            self.code.sample = Some(fraction);
            self
        }

        /// Whether signals are sent at all; `SVC_ENABLED`, else true.
        pub fn enabled(mut self, enabled: bool) -> Self {
            self.code.enabled = Some(enabled);
            self
        }
    };
}
pub(crate) use signal_setting_methods;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    #[test]
    fn settings_are_read_as_the_vectors_say() {
        for case in vectors::cases("settings") {
            let code = &case["code"];
            let text = |name: &str| code[name].as_str().map(str::to_owned);
            let code = Overrides {
                endpoint: text("endpoint"),
                api_key: text("api_key"),
                project: text("project"),
                environment: text("environment"),
                service_name: text("service_name"),
                service_version: text("service_version"),
                sample: code["sample"].as_f64(),
                enabled: code["enabled"].as_bool(),
            };
            let read = Settings::read(code, |name| case["env"][name].as_str().map(str::to_owned));
            let expected = &case["settings"];
            assert_eq!(Some(read.endpoint.shown().as_str()), expected["endpoint"].as_str(), "{case}");
            for (name, found) in [
                ("api_key", &read.api_key),
                ("project", &read.project),
                ("environment", &read.environment),
                ("service_name", &read.service_name),
                ("service_version", &read.service_version),
            ] {
                assert_eq!(found.as_deref(), expected[name].as_str(), "{name} of {case}");
            }
            assert_eq!(Some(read.sample), expected["sample"].as_f64(), "{case}");
            assert_eq!(Some(read.enabled), expected["enabled"].as_bool(), "{case}");
            let named: Vec<&str> =
                case["problems"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
            assert_eq!(read.problems.len(), named.len(), "{:?}", read.problems);
            assert!(named.iter().zip(&read.problems).all(|(name, words)| words.contains(name)), "{:?}", read.problems);
        }
    }

    #[test]
    fn a_key_and_a_password_are_shown_nowhere() {
        let code = || Overrides {
            endpoint: Some("http://me:secret@h".to_owned()),
            api_key: Some("secret".to_owned()),
            ..Overrides::default()
        };
        assert!(!format!("{:?}", Settings::read(code(), |_| None)).contains("secret"));
        let bad = Overrides {
            endpoint: Some("ftp://me:secret@h".to_owned()),
            api_key: Some("secret\n".to_owned()),
            ..Overrides::default()
        };
        let problems = Settings::read(bad, |_| None).problems;
        assert!(problems.len() == 2 && !problems.join(" ").contains("secret"), "{problems:?}");
    }
}
