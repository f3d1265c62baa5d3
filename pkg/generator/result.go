package generator

import "fmt"

// Severity is the severity of a result.
type Severity string

// The severities of results. Generate returns errors instead of reporting them as results.
const (
	SeverityWarning Severity = "warning"
	SeverityInfo    Severity = "info"
)

// Result is a message about a successful rendering, such as a deprecated parameter or a notable default. It must not
// contain data of a Secret.
type Result struct {
	Severity Severity
	Message  string
	// Object is the object of the result, such as "Deployment.apps shop/web", and Field the path of a field in it. Both
	// may be empty.
	Object, Field string
}

// String returns the result in readable form.
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

// Tell calls req.Report, if it is set, with a result.
func (r Request) Tell(result Result) {
	if r.Report != nil {
		r.Report(result)
	}
}
