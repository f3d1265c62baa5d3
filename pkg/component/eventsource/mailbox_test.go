package eventsource_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/test/gadget"
)

func TestTheHandlerOfAMailboxCallsAcceptBeforeItPutsTheValue(t *testing.T) {
	values := eventsource.Inbound("release", eventsource.InboundOptions[*gadget.Gadget, string]{})
	g := &gadget.Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}}
	var stored []string
	var failure error
	handler := values.Handler(eventsource.WebhookOptions{
		Route:  func(*http.Request) (client.ObjectKey, bool) { return client.ObjectKeyFromObject(g), true },
		Secret: func(context.Context, client.ObjectKey) ([]byte, error) { return []byte("key"), nil },
		Accept: func(_ context.Context, _ client.ObjectKey, body []byte) error {
			stored = append(stored, string(body))
			return failure
		},
		DiscardBody: true,
	}, func(body []byte) (string, error) {
		if len(body) == 0 {
			return "", errors.New("want a release")
		}
		return string(body), nil
	})
	for _, c := range []struct {
		body       string
		failure    error
		want       int
		value      string
		storedLast string
	}{
		{"1.0", nil, 202, "1.0", "1.0"},
		{"", nil, 400, "1.0", "1.0"},
		{"2.0", errors.New("refused"), 400, "1.0", "2.0"},
		{"2.0", component.RetryAfter(errors.New("not stored"), 0), 503, "1.0", "2.0"},
		{"2.0", nil, 202, "2.0", "2.0"},
	} {
		failure = c.failure
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(c.body))
		request.Header.Set("X-Hub-Signature-256", eventsource.Sign([]byte("key"), []byte(c.body)))
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		value, _, _ := values.Get(g)
		if answer.Code != c.want || value != c.value || stored[len(stored)-1] != c.storedLast {
			t.Errorf("call with %q: status %d, value %q, stored %q", c.body, answer.Code, value, stored)
		}
	}
}
