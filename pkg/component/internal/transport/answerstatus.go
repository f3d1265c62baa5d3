package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// maxStatusBytes is the maximum size of a Status. The Status of a conflict names each field twice.
	maxStatusBytes = 1 << 20
	// maxStatusMessage is the maximum length of the message of a Status, in bytes.
	maxStatusMessage = 4096
)

// errNoObject is the error of a response that has to be an object and is none. It does not quote the response.
var errNoObject = &AnswerError{"is no object with kind and apiVersion"}

// withStatusAlone replaces the body of a response with an error code. A Status keeps its fields, with a message of
// limited length. Any other body could be of a server that is no API server, and is replaced by a sentence, because
// client-go shows the body in errors.
func withStatusAlone(response *http.Response) (*http.Response, error) {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxStatusBytes+1))
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	contentType, body := "application/json", statusOf(text)
	if body == nil {
		contentType = "text/plain"
		body = fmt.Appendf(nil, "HTTP status %d, without a Status of a Kubernetes API server", response.StatusCode)
	}
	response.Header = response.Header.Clone()
	response.Header.Set("Content-Type", contentType)
	response.Header.Del("Content-Length")
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return response, nil
}

// statusOf returns the Status in a text, or nil if the text is no Status.
func statusOf(text []byte) []byte {
	var status metav1.Status
	if len(text) > maxStatusBytes || json.Unmarshal(text, &status) != nil {
		return nil
	}
	if status.Kind != "Status" || status.APIVersion != "v1" || status.Status != metav1.StatusFailure {
		return nil
	}
	status.Message = shortened(status.Message)
	if status.Details != nil {
		for i := range status.Details.Causes {
			status.Details.Causes[i].Message = shortened(status.Details.Causes[i].Message)
		}
	}
	body, err := json.Marshal(status)
	if err != nil {
		return nil
	}
	return body
}

func shortened(message string) string {
	if len(message) <= maxStatusMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxStatusMessage], "") + " (shortened)"
}

// typeFields finds out whether the fields kind and apiVersion of a JSON object are strings with content. It gets the
// characters between the fields of the object, and those of its keys and strings.
type typeFields struct {
	// text contains the first bytes of the last string, and length is its length.
	text   [len("apiVersion")]byte
	length int
	// inValue is set between the colon and the end of a value, and name is the key of the value.
	inValue bool
	name    string

	kind, apiVersion bool
}

// next follows a character of the object. The flags describe the position before the character.
func (f *typeFields) next(c byte, inString, escaped bool) {
	switch {
	case inString && (c != '"' || escaped):
		if f.length < len(f.text) {
			f.text[f.length] = c
		}
		f.length++
	case inString:
		if f.inValue {
			f.set(f.length > 0)
		}
	case c == '"':
		f.length = 0
	case c == ':':
		f.inValue, f.name = true, string(f.text[:min(f.length, len(f.text))])
		if f.length > len(f.text) {
			f.name = ""
		}
		f.set(false)
	case c == ',':
		f.inValue = false
	}
}

// set notes whether the current value is a string with content. The last value of a repeated key counts.
func (f *typeFields) set(hasContent bool) {
	switch f.name {
	case "kind":
		f.kind = hasContent
	case "apiVersion":
		f.apiVersion = hasContent
	}
}

func (f *typeFields) complete() bool { return f.kind && f.apiVersion }
