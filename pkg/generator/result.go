package generator

import "fmt"

// Severity says how grave a result is.
type Severity string

// The severities of results. An error is none of them: it is what Generate returns.
const (
	SeverityWarning Severity = "warning"
	SeverityInfo    Severity = "info"
)

// Result is what a generator has to say about a rendering that went well: a deprecated parameter, a default that a person should know of.
// It never holds data of a Secret.
type Result struct {
	Severity Severity
	Message  string
	// Object names what the result is about, such as "Deployment.apps shop/web", and Field the place in there. Both may be empty.
	Object, Field string
}

// String returns the result as people read it.
func (r Result) String() string {
	text := r.Message
	if r.Field != "" {
		text = fmt.Sprintf("%s: %s", r.Field, text)
	}
	if r.Object != "" {
		text = fmt.Sprintf("%s: %s", r.Object, text)
	}
	return text
}

// Tell reports a result to whoever asked for the rendering, who may not want to know.
func (r Request) Tell(result Result) {
	if r.Report != nil {
		r.Report(result)
	}
}
