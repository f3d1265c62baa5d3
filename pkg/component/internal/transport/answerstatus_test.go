package transport

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// leak is a text of a server that must not appear in an error.
const leak = "AKIA-LEAK"

// answering returns the configuration of clients for a server that gives one answer.
func answering(t *testing.T, code int, contentType, body string) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	config, err := WithAnswerLimit(&rest.Config{Host: server.URL + "/prefix"})
	if err != nil {
		t.Fatal(err)
	}
	return config
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// requests returns the errors of a get with each kind of client, and of a watch.
func requests(t *testing.T, config *rest.Config) map[string]error {
	t.Helper()
	errs := map[string]error{}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, errs["dynamic"] = objects.Resource(namespaces).Get(t.Context(), "a", metav1.GetOptions{})
	_, errs["list"] = objects.Resource(namespaces).List(t.Context(), metav1.ListOptions{})
	partial, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, errs["metadata"] = partial.Resource(namespaces).Get(t.Context(), "a", metav1.GetOptions{})
	watch, err := objects.Resource(namespaces).Watch(t.Context(), metav1.ListOptions{})
	if err == nil {
		defer watch.Stop()
		if event, ok := <-watch.ResultChan(); ok {
			err = apierrors.FromObject(event.Object)
		} else {
			err = errors.New("the watch ended")
		}
	}
	errs["watch"] = err
	return errs
}

func TestAnswersOfOtherServersAreNotQuoted(t *testing.T) {
	for name, c := range map[string]struct {
		code              int
		contentType, body string
	}{
		"an error as text":        {500, "text/plain", leak},
		"an error as HTML":        {502, "text/html", "<p>" + leak},
		"an error as JSON":        {500, "application/json", `{"AccessKeyId":"` + leak + `"}`},
		"a refusal as text":       {403, "text/plain", leak},
		"a refusal as JSON":       {403, "application/json", `{"message":"` + leak + `"}`},
		"a Status without a kind": {403, "application/json", `{"status":"Failure","message":"` + leak + `"}`},
		"a Status without a version": {403, "application/json", `{"kind":"Status","status":"Failure","message":"` +
			leak + `"}`},
		"a Status of no failure": {403, "application/json", `{"kind":"Status","apiVersion":"v1","message":"` +
			leak + `"}`},
		"a Status as text, not failing": {500, "text/plain", `{"kind":"Status","apiVersion":"v1","message":"` + leak + `"}`},
		"JSON without a kind":           {200, "application/json", `{"AccessKeyId":"` + leak + `"}`},
		"JSON with an empty kind": {200, "application/json", `{"kind":"A","apiVersion":"v1","kind":"","a":"` +
			leak + `"}`},
		"JSON without an apiVersion": {200, "application/json", `{"kind":"A","a":"` + leak + `"}`},
		"a kind that is no text": {200, "application/json", `{"kind":{"kind":"a"},"apiVersion":"v1","a":"` +
			leak + `"}`},
		"a kind below": {200, "application/json", `{"a":{"b":{"kind":"a","apiVersion":"v1"}},"c":"` +
			leak + `"}`},
		"a list":                  {200, "application/json", `["` + leak + `"]`},
		"text":                    {200, "application/json", leak},
		"an event without a kind": {200, "application/json", `{"type":"ADDED","object":{"a":"` + leak + `"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			for client, err := range requests(t, answering(t, c.code, c.contentType, c.body)) {
				if err == nil || strings.Contains(err.Error(), leak) {
					t.Errorf("%s: got %v", client, err)
				}
			}
		})
	}
}

func TestAnErrorWithoutAStatusNamesTheCode(t *testing.T) {
	errs := requests(t, answering(t, 500, "text/plain", leak))
	if err := errs["dynamic"]; !apierrors.IsInternalError(err) || !strings.Contains(err.Error(),
		"HTTP status 500, without a Status of a Kubernetes API server") {
		t.Errorf("got %v", err)
	}
	if err := requests(t, answering(t, 403, "text/plain", leak))["dynamic"]; !apierrors.IsForbidden(err) {
		t.Errorf("got %v", err)
	}
}

func TestTheMessageOfAStatusIsKept(t *testing.T) {
	status := func(message string) string {
		return `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"` +
			message + `"}`
	}
	for client, err := range requests(t, answering(t, 403, "application/json", status("ann cannot get namespaces"))) {
		if !apierrors.IsForbidden(err) || err.Error() != "ann cannot get namespaces" {
			t.Errorf("%s: got %v", client, err)
		}
	}
	for client, err := range requests(t, answering(t, 403, "application/json", status(strings.Repeat("a", 100_000)))) {
		if !apierrors.IsForbidden(err) || len(err.Error()) > 5000 {
			t.Errorf("%s: got a message of %d bytes", client, len(err.Error()))
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, code := range []int{301, 302, 303, 307, 308} {
		followed := false
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
		server := httptest.NewServer(http.RedirectHandler(other.URL, code))
		config, err := WithAnswerLimit(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		for client, err := range requests(t, config) {
			if refused, ok := errors.AsType[*AnswerError](err); !ok || !strings.Contains(refused.Error(), "is a redirect") {
				t.Errorf("%s: got %v", client, err)
			}
		}
		if followed {
			t.Errorf("a redirect with status %d was followed", code)
		}
		server.Close()
		other.Close()
	}
}

func TestAnswersOfAnAPIServerAreAccepted(t *testing.T) {
	for name, body := range map[string]string{
		"an object": ` {"kind":"Namespace","apiVersion":"v1","metadata":{"name":"a"}}`,
		"a list":    `{"apiVersion":"v1","items":[{"metadata":{"name":"kind"}}],"kind":"NamespaceList","metadata":{}}`,
	} {
		objects, err := dynamic.NewForConfig(answering(t, 200, "application/json", body))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := objects.Resource(namespaces).Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	events := answering(t, 200, "application/json", strings.Repeat(
		`{"type":"ADDED","object":{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"a"}}}`+"\n", 3))
	objects, err := dynamic.NewForConfig(events)
	if err != nil {
		t.Fatal(err)
	}
	watch, err := objects.Resource(namespaces).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for range 3 {
		if event := <-watch.ResultChan(); event.Type != "ADDED" {
			t.Errorf("got %v", event)
		}
	}
}
