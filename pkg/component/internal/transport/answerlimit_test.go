package transport

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// repeated is a reader that repeats a text for ever.
type repeated struct {
	text string
	at   int
}

func endless(text string) io.Reader { return &repeated{text: text} }

func (r *repeated) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = r.text[r.at]
		r.at = (r.at + 1) % len(r.text)
	}
	return len(into), nil
}

func TestALongDemandToWaitIsRemoved(t *testing.T) {
	for sent, want := range map[string]string{"": "", "5": "5", "6": "", "3600": ""} {
		next := server(func(*http.Request) (*http.Response, error) {
			header := http.Header{"Retry-After": {sent}}
			return &http.Response{StatusCode: http.StatusTooManyRequests, Header: header, Body: http.NoBody}, nil
		})
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://far/api", http.NoBody)
		response, err := (&answerLimit{next: next}).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		if got := response.Header.Get("Retry-After"); got != want {
			t.Errorf("the delay %q became %q, want %q", sent, got, want)
		}
		_ = response.Body.Close()
	}
}

func TestAnswersAreLimited(t *testing.T) {
	for _, c := range []struct {
		name, query, contentType string
		body                     io.Reader
		want                     string
	}{
		{
			"an endless text", "", "application/json", io.MultiReader(strings.NewReader(`{"a":"`), endless("a")),
			"has more than 67108864 bytes",
		},
		{
			"an endless list", "", "application/json", io.MultiReader(strings.NewReader(" {\"a\":["), endless("{},")),
			"has more than 2000000 values",
		},
		{
			"a deep list", "", "application/json", io.MultiReader(strings.NewReader(`{"a":`), endless("[")),
			"is nested more than 1000 levels deep",
		},
		{
			"an endless text without a type", "", "text/plain", endless("a"),
			"is no JSON object, and has more than 65536 bytes",
		},
		{"endless ends of objects", "", "application/json", endless("}"), "is no JSON object, and has more than 65536 bytes"},
		{
			"an endless list in YAML, as JSON", "", "application/json", endless("- a\n"),
			"is no JSON object, and has more than 65536 bytes",
		},
		{"YAML", "", "application/yaml", strings.NewReader("a: b"), "is neither JSON nor text"},
		{"an endless event", "?watch=true", "application/json", io.MultiReader(strings.NewReader(`{"object":"`),
			endless("a")), "has more than 67108864 bytes"},
		{"an endless list in an event", "?watch=1", "application/json", io.MultiReader(strings.NewReader(`{"object":[`),
			endless("{},")), "has more than 2000000 values"},
		{"protobuf", "", "application/vnd.kubernetes.protobuf", strings.NewReader("k8s"), "is neither JSON nor text"},
		{"CBOR", "", "application/cbor", strings.NewReader("a"), "is neither JSON nor text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.contentType)
				_, _ = io.Copy(w, c.body)
			}))
			defer server.Close()
			client := &http.Client{Transport: &answerLimit{next: http.DefaultTransport}}
			err := read(t, client, server.URL+c.query)
			var refused *AnswerError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the body was read with the error %v, want %q", err, c.want)
			}
		})
	}
}

func TestAWatchMayBeEndless(t *testing.T) {
	const event = `{"type":"ADDED","object":{"a":"}{\"["}}` + "\n"
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?watch=true", nil)
	body := newLimitedBody(request, io.NopCloser(endless(event)), false, allAnswers)
	if _, err := io.CopyN(io.Discard, body, 2*maxAnswerBytes); err != nil {
		t.Error(err)
	}
}

func TestResponsesAreRequestedAsJSON(t *testing.T) {
	var accepted string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		accepted = r.Header.Get(
			"Accept")
	}))
	defer server.Close()
	client := &http.Client{Transport: &answerLimit{next: http.DefaultTransport}}
	for accept, want := range map[string]string{
		"application/vnd.kubernetes.protobuf;as=Table,application/json;as=Table, */*": "application/json;as=Table,*/*",
		"application/vnd.kubernetes.protobuf":                                         "application/json",
		"application/json":                                                            "application/json",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", accept)
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if accepted != want {
			t.Errorf("Accept: %s was sent as %q, want %q", accept, accepted, want)
		}
	}
}

func read(t *testing.T, client *http.Client, url string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}
