package scaffold

// tools are the versions of the tools that build a project. A test compares them with those of Fairlead's own modules.
var tools = struct {
	Go, GoMinor, ControllerGen, GolangciLint, SetupEnvtest, Kubernetes string
}{
	Go:            "1.26.0",
	GoMinor:       "1.26",
	ControllerGen: "v0.23.0",
	GolangciLint:  "v2.15.0",
	SetupEnvtest:  "release-0.25",
	Kubernetes:    "1.36",
}
