// Program conformance joins the conformance kit to this library. See sdk/conformance/README.md.
package main

import "svc.dev/sdk/go/internal/fixture"

func main() { fixture.Main(nil) }
