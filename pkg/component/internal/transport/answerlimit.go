package transport

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
)

// The limits of a response of a server that the operator's administrator did not choose. A list of 50,000 objects as
// metadata stays below them. The response to a watch may be endless, so the limits apply to each of its events.
const (
	maxAnswerBytes = 64 << 20
	// maxAnswerNodes limits the maps, lists and values in a response, because a few bytes of each need a hundred bytes of
	// memory.
	maxAnswerNodes = 2_000_000
	maxAnswerDepth = 1000
	// maxTextBytes is the maximum size of a response that is no JSON object, such as the error page of a proxy. client-go
	// decodes a part of the responses as YAML if they are no JSON objects, whatever their format is.
	maxTextBytes = 64 << 10
	// maxRetryAfter is the longest delay, in seconds, after which client-go may repeat a request by itself. client-go
	// waits up to ten times for the delay in the header Retry-After, and the worker waits with it. If the delay is longer,
	// the header is removed. Then client-go returns the response as an error, which ends the pass.
	maxRetryAfter = 5
)

// answerLimit ends responses that exceed the limits, and responses of servers that are no API servers. It asks for
// JSON, because the number of values in a binary format or in YAML cannot be counted without decoding it.
type answerLimit struct {
	next http.RoundTripper
	// prefix is the part before /api and /apis in the paths of requests.
	prefix string
}

// WithAnswerLimit returns a copy of config whose clients accept only the responses of an API server, within the limits
// of this file. It is meant for the addresses of kubeconfigs that the authors of components provide:
//
//   - A redirect is an error, because it could lead to any address that the operator can reach.
//   - A response with an error code has a Status with a message of limited length, or only the code.
//   - An object without kind and apiVersion is an error. client-go would quote it.
//
// The header of a response is limited by net/http.
func WithAnswerLimit(config *rest.Config) (*rest.Config, error) {
	return wrap(config, func(next http.RoundTripper, prefix string) http.RoundTripper {
		return &answerLimit{next: next, prefix: strings.TrimSuffix(prefix, "/")}
	})
}

// WrappedRoundTripper returns the wrapped transport. client-go looks for this method.
func (t *answerLimit) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *answerLimit) RoundTrip(r *http.Request) (*http.Response, error) {
	if accept := r.Header.Get("Accept"); accept != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Accept", withoutUncounted(accept))
	}
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > maxRetryAfter {
		response.Header.Del("Retry-After")
	}
	switch {
	case response.StatusCode >= 300 && response.StatusCode < 400 && response.Header.Get("Location") != "":
		err = &AnswerError{fmt.Sprintf("is a redirect (HTTP status %d), which is not followed", response.StatusCode)}
	case isUncounted(response.Header.Get("Content-Type")):
		err = &AnswerError{"is neither JSON nor text, although the request asked for JSON"}
	case response.StatusCode >= 300:
		return withStatusAlone(response)
	}
	if err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	response.Body = newLimitedBody(r, response.Body, t.isForObjects(r), allAnswers)
	return response, nil
}

// isForObjects reports whether a request asks for objects. The other requests ask for documents, such as the version of
// the server.
func (t *answerLimit) isForObjects(r *http.Request) bool {
	path, ok := strings.CutPrefix(r.URL.Path, t.prefix)
	return ok && (strings.HasPrefix(path+"/", "/api/") || strings.HasPrefix(path+"/", "/apis/"))
}

// withoutUncounted removes the formats whose values cannot be counted from a list of acceptable formats.
func withoutUncounted(accept string) string {
	var kept []string
	for format := range strings.SplitSeq(accept, ",") {
		if !isUncounted(format) {
			kept = append(kept, strings.TrimSpace(format))
		}
	}
	if len(kept) == 0 {
		return "application/json"
	}
	return strings.Join(kept, ",")
}

// isUncounted reports whether client-go decodes a format whose values cannot be counted.
func isUncounted(format string) bool {
	name, _, err := mime.ParseMediaType(format)
	if err != nil {
		name = format
	}
	return strings.Contains(name, "protobuf") || strings.Contains(name, "cbor") || strings.Contains(name, "yaml")
}

// AnswerError is the error of a response that is refused because of its size or format.
type AnswerError struct{ problem string }

func (e *AnswerError) Error() string { return "the response of the API server " + e.problem }

// limitedBody is the body of a response. Read fails at the limits. After the end of each event of a watch it counts
// from the beginning.
type limitedBody struct {
	io.ReadCloser
	holding answerHolding
	// ended is set after the first error of ReadCloser, which is io.EOF at the end.
	ended   bool
	isWatch bool
	// hasObjects is set if the body, or the object of each event, must have the fields kind and apiVersion.
	hasObjects bool
	fields     typeFields
	// begun is set after the first character that is no white space. isText is set if this character begins no object.
	begun, isText       bool
	bytes, nodes, depth int
	inString, escaped   bool
	failed              error
}

// newLimitedBody returns the body of the response to a request. It takes memory from the budget of the request's pass,
// or from memory.
func newLimitedBody(r *http.Request, body io.ReadCloser, hasObjects bool, answers *answerBudget) *limitedBody {
	return &limitedBody{
		ReadCloser: body, isWatch: isWatch(r), hasObjects: hasObjects,
		holding: answerHolding{ctx: r.Context(), answers: answers},
	}
}

// Read implements io.Reader.
func (b *limitedBody) Read(into []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	n, err := b.ReadCloser.Read(into)
	for _, c := range into[:n] {
		if b.failed = b.count(c); b.failed != nil {
			b.holding.end(true)
			return 0, b.failed
		}
	}
	if b.ended {
		return n, err
	}
	b.ended = err != nil
	if b.failed = b.holding.grow(b.bytes, b.nodes, into); b.failed != nil {
		b.holding.end(true)
		return 0, b.failed
	}
	return n, err
}

// Close implements io.Closer.
func (b *limitedBody) Close() error {
	b.holding.end(false)
	return b.ReadCloser.Close()
}

// jsonSpace contains the characters that may stand before a JSON object.
const jsonSpace = " \t\r\n"

// count counts the values of JSON. It need not recognise invalid JSON, because decoding fails at the first mistake.
func (b *limitedBody) count(c byte) error {
	b.bytes++
	if !b.begun && !strings.ContainsRune(jsonSpace, rune(c)) {
		b.begun, b.isText = true, c != '{'
	}
	if b.depth == b.objectDepth() {
		b.fields.next(c, b.inString, b.escaped)
	}
	switch {
	case b.escaped:
		b.escaped = false
	case b.inString:
		b.escaped, b.inString = c == '\\', c != '"'
	case c == '"':
		b.inString = true
	case c == '{', c == '[':
		b.nodes++
		b.depth++
	case c == ',':
		b.nodes++
	case c == '}', c == ']':
		b.depth--
		if b.depth > 0 {
			break
		}
		if err := b.end(); err != nil {
			return err
		}
	}
	return b.exceeded()
}

// objectDepth returns the depth of the fields of an object.
func (b *limitedBody) objectDepth() int {
	if b.isWatch {
		return 2
	}
	return 1
}

// end checks an object, or an event, that is complete.
func (b *limitedBody) end() error {
	if b.hasObjects && !b.fields.complete() {
		return errNoObject
	}
	if b.isWatch {
		b.bytes, b.nodes, b.depth, b.fields = 0, 0, 0, typeFields{}
	}
	return nil
}

func (b *limitedBody) exceeded() error {
	switch {
	case b.isText && b.hasObjects:
		return errNoObject
	case b.isText && !b.isWatch && b.bytes > maxTextBytes:
		return &AnswerError{fmt.Sprintf("is no JSON object, and has more than %d bytes", maxTextBytes)}
	case b.bytes > maxAnswerBytes:
		return &AnswerError{fmt.Sprintf("has more than %d bytes", maxAnswerBytes)}
	case b.nodes > maxAnswerNodes:
		return &AnswerError{fmt.Sprintf("has more than %d values", maxAnswerNodes)}
	case b.depth > maxAnswerDepth:
		return &AnswerError{fmt.Sprintf("is nested more than %d levels deep", maxAnswerDepth)}
	}
	return nil
}
