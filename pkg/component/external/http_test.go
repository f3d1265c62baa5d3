package external

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// answerWith returns the answer to a request. An empty key means that the request has no idempotency key.
func answerWith(status int, retryAfter, key, body string) *http.Response {
	request := &http.Request{
		Method: http.MethodPost, Header: http.Header{},
		URL: &url.URL{Scheme: "https", Host: "dns", Path: "/records", RawQuery: "token=hunter2"},
	}
	response := &http.Response{
		StatusCode: status, Header: http.Header{}, Request: request, Body: io.NopCloser(strings.NewReader(body)),
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	if retryAfter != "" {
		response.Header.Set("Retry-After", retryAfter)
	}
	return response
}

// meaning says what an error means to the reconciler.
func meaning(err error) string {
	refused, ok := errors.AsType[*RefusedError](err)
	switch {
	case err == nil:
		return "nil"
	case errors.Is(err, ErrNotFound):
		return "ErrNotFound"
	case errors.Is(err, ErrExists):
		return "ErrExists"
	case ok && refused.Temporary:
		return "RefusedFor " + refused.After.String()
	case ok:
		return "Refused"
	}
	return "unknown"
}

func TestStatusOfAnAnswerHasAMeaning(t *testing.T) {
	later := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for name, c := range map[string]struct {
		status          int
		retryAfter, key string
		want, forCreate string
	}{
		"200":                       {200, "", "", "nil", "nil"},
		"204":                       {204, "", "", "nil", "nil"},
		"304":                       {304, "", "", "Refused", "Refused"},
		"400":                       {400, "", "", "Refused", "Refused"},
		"401":                       {401, "", "", "Refused", "Refused"},
		"403":                       {403, "", "", "Refused", "Refused"},
		"404":                       {404, "", "", "ErrNotFound", "Refused"},
		"408":                       {408, "", "", "unknown", "unknown"},
		"408 with a time":           {408, "7", "", "unknown", "unknown"},
		"409":                       {409, "", "", "Refused", "ErrExists"},
		"409 to an idempotency key": {409, "", "k", "Refused", "unknown"},
		"410":                       {410, "", "", "Refused", "Refused"},
		"422":                       {422, "", "", "Refused", "Refused"},
		"422 to an idempotency key": {422, "", "k", "Refused", "unknown"},
		"429":                       {429, "", "", "RefusedFor 0s", "RefusedFor 0s"},
		"429 with seconds":          {429, "7", "", "RefusedFor 7s", "RefusedFor 7s"},
		"429 with a date":           {429, later, "", "RefusedFor 5m0s", "RefusedFor 5m0s"},
		"429 with nonsense":         {429, "soon", "", "RefusedFor 0s", "RefusedFor 0s"},
		"500":                       {500, "", "", "unknown", "unknown"},
		"500 with a time":           {500, "7", "", "unknown", "unknown"},
		"502":                       {502, "", "", "unknown", "unknown"},
		"503":                       {503, "", "", "unknown", "unknown"},
		"503 with a time":           {503, "7", "", "RefusedFor 7s", "RefusedFor 7s"},
		"504":                       {504, "", "", "unknown", "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := meaning(HTTPError(answerWith(c.status, c.retryAfter, c.key, ""))); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if got := meaning(HTTPCreateError(answerWith(c.status, c.retryAfter, c.key, ""))); got != c.forCreate {
				t.Errorf("for a create: got %s, want %s", got, c.forCreate)
			}
		})
	}
}

func TestErrorOfAnAnswerDescribesIt(t *testing.T) {
	for want, response := range map[string]*http.Response{
		"POST /records: 400 Bad Request": answerWith(400, "", "", ""),
		`POST /records: 400 Bad Request: {"error":  "no zone"}`: answerWith(400, "", "",
			"{\"error\":  \"no zone\"}\n"),
		"POST /records: 500 Internal Server Error: a b":                      answerWith(500, "", "", "\na\r\nb\n"),
		"the external does not exist: POST /records: 404 Not Found: missing": answerWith(404, "", "", "missing"),
		"400 Bad Request": {StatusCode: 400},
		"GET /: 500 Internal Server Error": {
			StatusCode: 500, Body: http.NoBody, Request: &http.Request{URL: &url.URL{Host: "dns"}},
		},
	} {
		if got := HTTPError(response).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	got := HTTPError(answerWith(400, "", "", strings.Repeat("ä", 1<<20))).Error()
	if len(got) > maxErrorBody+100 || !strings.HasSuffix(got, "ä…") {
		t.Errorf("%d bytes are quoted, and the end is %q", len(got), got[len(got)-8:])
	}
}
