package eventsource_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// The components of this example are rendered again when a ConfigMap of another team changes.
func ExampleRelated() {
	settings := eventsource.Related("settings", eventsource.RelatedOptions[*gadget.Gadget, *corev1.ConfigMap]{
		Of: func(*gadget.Gadget) []client.ObjectKey {
			return []client.ObjectKey{{Namespace: "platform", Name: "settings"}}
		},
		Part:  func(c *corev1.ConfigMap) any { return c.Data },
		Whole: true,
	})
	reconciler := component.NewReconciler[*gadget.Gadget]("greeter.example.com", gadget.Generate, component.Options{})
	_, err := reconciler.AddEventSource(eventsource.AsInput(settings))
	fmt.Println(err)
	// Output: <nil>
}

// A poll asks one service for the values of all components.
func ExamplePolling() {
	rates := eventsource.Polling[*gadget.Gadget]("rates", time.Hour,
		func(context.Context) (map[client.ObjectKey]float64, error) {
			return map[client.ObjectKey]float64{{Namespace: "shop", Name: "a"}: 1.08}, nil
		})
	_, _, known := rates.Get(&gadget.Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}})
	fmt.Println(known, "before the start")
	// Output: false before the start
}

// The interval of each component is in its spec.
func ExamplePollingEach() {
	versions := eventsource.PollingEach("version", eventsource.PollOptions[*gadget.Gadget, string]{
		Fetch: func(context.Context, *gadget.Gadget) (string, error) { return "1.2.3", nil },
		After: func(g *gadget.Gadget, _ string) time.Duration { return g.ResyncInterval() },
		When:  func(g *gadget.Gadget) bool { return !g.Spec.Suspend },
		Key:   func(g *gadget.Gadget) string { return g.Spec.Parameters["url"] },
	})
	reconciler := component.NewReconciler[*gadget.Gadget]("greeter.example.com", gadget.Generate, component.Options{})
	remove, err := reconciler.AddEventSource(versions)
	fmt.Println(err)
	remove()
	// Output: <nil>
}

// A webhook receives the release of a component; calls without a valid signature are refused.
func ExampleInbound() {
	releases := eventsource.Inbound("release", eventsource.InboundOptions[*gadget.Gadget, string]{})
	handler := releases.Handler(eventsource.WebhookOptions{
		Route: func(r *http.Request) (client.ObjectKey, bool) {
			namespace, name, found := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
			return client.ObjectKey{Namespace: namespace, Name: name}, found
		},
		Secret: func(context.Context, client.ObjectKey) ([]byte, error) { return []byte("from a Secret"), nil },
	}, func(body []byte) (release string, err error) {
		err = json.Unmarshal(body, &release)
		return release, err
	})
	call := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/shop/a", strings.NewReader(`"1.2.3"`))
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, call)
	fmt.Println(answer.Code)
	// Output: 401
}

// The generator reads the value of an input from its request, as plain data.
func ExampleAsInput() {
	rates := eventsource.Inbound("rates", eventsource.InboundOptions[*gadget.Gadget, map[string]float64]{})
	reconciler := component.NewReconciler[*gadget.Gadget]("greeter.example.com", gadget.Generate, component.Options{})
	_, err := reconciler.AddEventSource(eventsource.AsInput(rates))
	fmt.Println(err)
	// Output: <nil>
}

// The history of a component names the fields of a secret value that changed, and does not show them.
func ExampleAsSecretInput() {
	tokens := eventsource.Inbound("registry", eventsource.InboundOptions[*gadget.Gadget, map[string]string]{})
	reconciler := component.NewReconciler[*gadget.Gadget]("greeter.example.com", gadget.Generate, component.Options{})
	_, err := reconciler.AddEventSource(eventsource.AsSecretInput(tokens))
	fmt.Println(err)
	// Output: <nil>
}

func ExampleForOwnerReferences() {
	gadgets := schema.GroupKind{Group: "gadgets.example.com", Kind: "Gadget"}
	forGadgets := eventsource.ForOwnerReferences[*corev1.ConfigMap](gadgets)
	fmt.Println(forGadgets(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "gadgets.example.com/v1", Kind: "Gadget", Name: "a"},
			{APIVersion: "apps/v1", Kind: "Deployment", Name: "b"},
		},
	}}))
	// Output: [shop/a]
}

func ExampleForAnnotation() {
	named := eventsource.ForAnnotation[*corev1.ConfigMap]("example.com/gadgets")
	fmt.Println(named(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Annotations: map[string]string{"example.com/gadgets": "a, other/b"},
	}}))
	// Output: [shop/a other/b]
}

func ExampleForLabels() {
	labelled := eventsource.ForLabels[*corev1.ConfigMap]("example.com/gadget", "example.com/gadget-namespace")
	fmt.Println(labelled(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Labels: map[string]string{"example.com/gadget": "a"},
	}}))
	// Output: [shop/a]
}

// A call without a value starts a pass over the component that its path names.
func ExampleWebhookHandler() {
	reconciler := component.NewReconciler[*gadget.Gadget]("greeter.example.com", gadget.Generate, component.Options{})
	handler := eventsource.WebhookHandler(eventsource.WebhookOptions{
		Route: func(r *http.Request) (client.ObjectKey, bool) {
			return client.ObjectKey{Namespace: "shop", Name: strings.TrimPrefix(r.URL.Path, "/")}, true
		},
		Secret: func(context.Context, client.ObjectKey) ([]byte, error) { return []byte("from a Secret"), nil },
		Accept: func(_ context.Context, name client.ObjectKey, _ []byte) error {
			reconciler.Trigger(name)
			return nil
		},
	})
	call := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/a", strings.NewReader("now"))
	call.Header.Set("X-Hub-Signature-256", eventsource.Sign([]byte("from a Secret"), []byte("now")))
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, call)
	fmt.Println(answer.Code)
	// Output: 202
}

func ExampleSign() {
	fmt.Println(eventsource.Sign([]byte("key"), []byte("body")))
	// Output: sha256=515aae133b435d4000956731f68ae5cf5eb85d4f0dc6a546d2bfcd3595ec1ae1
}
