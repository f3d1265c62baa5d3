package function_test

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/function"
)

// greeting is an example of a generator.
func greeting(_ context.Context, req generator.Request) ([]client.Object, error) {
	if req.Parameters["text"] == nil {
		return nil, fmt.Errorf("parameter text: write what to greet with")
	}
	return []client.Object{&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: req.Name,
		}, Data: map[string]string{"text": fmt.Sprint(req.Parameters["text"])},
	}}, nil
}

// A service renders dependents for operators in other programs. In a real program, main runs the server, and mounted
// Secrets contain the token and the certificate.
func ExampleHandler() {
	render := function.Handler(generator.GeneratorFunc(greeting), function.HandlerOptions{})
	const token = "Bearer from-a-secret"
	authenticated := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte(token)) != 1 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		render.ServeHTTP(w, r)
	})
	// In main: (&http.Server{Addr: ":8443", Handler: authenticated, ReadTimeout:
	// time.Minute}).ListenAndServeTLS("/tls/tls.crt", "/tls/tls.key")

	stranger := httptest.NewRecorder()
	authenticated.ServeHTTP(stranger, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}")))
	fmt.Println(stranger.Code)
	// Output: 401
}

// An operator renders dependents with a service that another team maintains.
func ExampleNew() {
	service := httptest.NewServer(function.Handler(generator.GeneratorFunc(greeting), function.HandlerOptions{}))
	defer service.Close()

	g, err := function.New(function.Service{URL: service.URL, Timeout: 5 * time.Second}, function.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	objects, err := g.Generate(context.Background(), generator.Request{
		Namespace: "default", Name: "demo", Parameters: map[string]any{"text": "Ahoy"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(objects[0].GetObjectKind().GroupVersionKind().Kind, objects[0].GetName())
	// Output: ConfigMap demo
}

// A parameter of the component selects the service that renders it.
func ExampleNewFor() {
	g := function.NewFor(func(req generator.Request) (function.Service, error) {
		region, ok := req.Parameters["region"].(string)
		if !ok {
			return function.Service{}, fmt.Errorf("parameter region: write one, such as eu")
		}
		return function.Service{URL: "https://render." + region + ".example.com"}, nil
	}, function.Options{})
	_, err := g.Generate(context.Background(), generator.Request{Namespace: "default", Name: "demo"})
	fmt.Println(err)
	// Output: parameter region: write one, such as eu
}
