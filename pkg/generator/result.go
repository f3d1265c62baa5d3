package generator

import "fmt"

// Severity is the severity of a result.
type Severity string

// The severities of results. There is no severity for errors, because Generate returns errors.
const (
	SeverityWarning Severity = "warning"
	SeverityInfo    Severity = "info"
)

// Result is a message about a successful rendering, such as a deprecated parameter or a notable default. It must not
// contain data of a Secret.
type Result struct {
	Severity Severity
	Message  string
	// Object names the object that the result refers to, such as "Deployment.apps shop/web". Field is the path of a field
	// in this object. Both may be empty.
	Object, Field string
}

// String returns the message, prefixed with the object and the field if they are set.
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

// Tell reports a result to req.Report. It does nothing if Report is nil.
func (r Request) Tell(result Result) {
	if r.Report != nil {
		r.Report(result)
	}
}
