package external_test

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// Alias is the spec of an alias, and also its observed state.
type Alias struct {
	Host   string `json:"host"`
	Target string `json:"target"`
}

// Aliases handles aliases in a DNS server. The id of an alias is its host.
type Aliases struct {
	mu      sync.Mutex
	targets map[string]string
}

func (a *Aliases) Observe(_ context.Context, r external.Ref[Alias]) (Alias, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	target, found := a.targets[r.ID]
	if !found {
		return Alias{}, external.ErrNotFound
	}
	return Alias{Host: r.ID, Target: target}, nil
}

func (*Aliases) Identify(spec Alias) string { return spec.Host }

func (a *Aliases) Create(_ context.Context, r external.Ref[Alias]) (external.Created[Alias], error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, found := a.targets[r.Spec.Host]; found {
		return external.Created[Alias]{}, external.ErrExists
	}
	a.targets[r.Spec.Host] = r.Spec.Target
	return external.Created[Alias]{Observed: r.Spec}, nil
}

func (a *Aliases) Update(_ context.Context, r external.Ref[Alias], _ Alias) (Alias, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.targets[r.ID] = r.Spec.Target
	return r.Spec, nil
}

func (a *Aliases) Delete(_ context.Context, r external.Ref[Alias]) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.targets, r.ID)
	return nil
}

func (*Aliases) ImmutableChanges(applied, desired Alias) []string {
	return external.Changed(applied, desired, "host")
}

// An author registers a driver in Options.Externals of package component. The reconciler then calls its methods as
// here.
func ExampleOf() {
	aliases := external.Of("Alias", &Aliases{targets: map[string]string{}}, external.Options[Alias]{
		Poll: 5 * time.Minute,
	})
	ctx := context.Background()
	created, err := aliases.Create(ctx, external.Request{Spec: []byte(`{"host": "www", "target": "shop-1"}`)})
	fmt.Println(created.ID, string(created.Observed), err)

	changed := external.Request{ID: created.ID, Spec: []byte(`{"host": "www", "target": "shop-2"}`)}
	observed, err := aliases.Observe(ctx, changed)
	fmt.Println(observed.Differs, err)

	_, err = aliases.Update(ctx, changed)
	fmt.Println(err)
	fmt.Println(aliases.Check(external.Request{Spec: []byte(`{"host": "www", "traget": "shop-1"}`)}).Invalid)
	// Output:
	// www {"host":"www","target":"shop-1"} <nil>
	// spec.target: want "shop-2", found "shop-1" <nil>
	// <nil>
	// unknown field "spec.traget"
}

// Options.Externals calls Validate, so that mistakes are reported when the operator starts.
func ExampleValidate() {
	aliases := &Aliases{targets: map[string]string{}}
	fmt.Println(external.Validate(
		external.Of("Alias", aliases, external.Options[Alias]{Timeout: 30}),
		external.Of("dnsAlias", aliases, external.Options[Alias]{}),
	))
	// Output:
	// external kind Alias: Timeout is 30ns; set a time from 1ms to 1h0m0s
	// external kind dnsAlias: the name of the kind must begin with a capital letter and have only letters and digits, at most 63
}

// A service handles externals for operators in other programs. In a real program, main runs the server, and mounted
// Secrets contain the token and the certificate.
func ExampleHandler() {
	aliases := external.Of("Alias", &Aliases{targets: map[string]string{}}, external.Options[Alias]{})
	handle := external.Handler(external.HandlerOptions{}, aliases)
	const token = "Bearer from-a-secret"
	contained := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte(token)) != 1 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handle.ServeHTTP(w, r)
	})
	// In main: (&http.Server{Addr: ":8443", Handler: contained, ReadTimeout:
	// time.Minute}).ListenAndServeTLS("/tls/tls.crt", "/tls/tls.key")

	stranger := httptest.NewRecorder()
	contained.ServeHTTP(stranger, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}")))
	fmt.Println(stranger.Code)
	// Output: 401
}

// An operator uses a service of another team. Dial asks the service what it can do.
func ExampleDial() {
	aliases := external.Of("Alias", &Aliases{targets: map[string]string{}}, external.Options[Alias]{})
	server := httptest.NewServer(external.Handler(external.HandlerOptions{}, aliases))
	defer server.Close()

	ctx := context.Background()
	remote, err := external.Dial(ctx, "Alias", external.ServiceOptions{URL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	created, err := remote.Create(ctx, external.Request{Spec: []byte(`{"host": "www", "target": "shop-1"}`)})
	fmt.Println(created.ID, remote.Info().Deletes, err)
	// Output: www true <nil>
}

// An operator that must start while a service is down knows what the service can do.
func ExampleService() {
	remote, err := external.Service(
		external.Info{Kind: "Alias", Creates: true, Updates: true, Deletes: true, Finds: true},
		external.ServiceOptions{URL: "https://aliases.tools.svc/v1"},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(remote.Info().Kind, remote.Info().Poll)
	// Output: Alias 1m0s
}

// A call that the external system refused had no effect, so it may be repeated.
func ExampleRefused() {
	err := external.Refused(errors.New("the host is reserved; choose another one"))
	refused, ok := errors.AsType[*external.RefusedError](err)
	fmt.Println(ok, refused.Temporary, err)
	// Output: true false the host is reserved; choose another one
}

// A rate limit ends by itself.
func ExampleRefusedFor() {
	err := external.RefusedFor(errors.New("more than 100 requests in a minute"), 30*time.Second)
	refused, ok := errors.AsType[*external.RefusedError](err)
	fmt.Println(ok, refused.After)
	// Output: true 30s
}

// A client converts each answer in one line. The request that creates an external has its own function, because a 404
// to it does not mean that the external was deleted.
func ExampleHTTPError() {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	response, err := http.Get(server.URL + "/aliases/www?token=hunter2")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = response.Body.Close() }()
	err = external.HTTPError(response)
	fmt.Println(errors.Is(err, external.ErrNotFound))
	fmt.Println(err)
	// Output:
	// true
	// the external does not exist: GET /aliases/www: 404 Not Found: 404 page not found
}

// The zone of the new alias does not exist. So nothing was created, and a person must correct the spec.
func ExampleHTTPCreateError() {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	response, err := http.Post(server.URL+"/zones/example.com/aliases", "application/json", strings.NewReader("{}"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = response.Body.Close() }()
	err = external.HTTPCreateError(response)
	_, refused := errors.AsType[*external.RefusedError](err)
	fmt.Println(refused)
	fmt.Println(err)
	// Output:
	// true
	// POST /zones/example.com/aliases: 404 Not Found: 404 page not found
}

// The method ImmutableChanges names the fields that the external system cannot change.
func ExampleChanged() {
	applied := Alias{Host: "www", Target: "shop-1"}
	desired := Alias{Host: "shop", Target: "shop-2"}
	fmt.Println(external.Changed(applied, desired, "host"))
	// Output: [spec.host]
}

// A generator renders externals beside objects of Kubernetes.
func ExampleManifest() {
	alias, err := external.Manifest("Alias", "www", Alias{Host: "www.example.com", Target: "web"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(alias.GetAPIVersion(), alias.GetName(), alias.Object["spec"])
	// Output: external.fairlead.io/v1 www map[host:www.example.com target:web]
}
