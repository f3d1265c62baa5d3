package related

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"
)

// transportFunc is a transport that cannot be compared.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func unwrapped(next http.RoundTripper) http.RoundTripper { return next }

type persister struct {
	rest.AuthProviderConfigPersister
}

// irrelevant are the fields of a configuration that change neither the cluster nor the identity in it. The limits of
// requests are replaced when a cluster is dialled.
var irrelevant = map[string]bool{
	"ContentConfig": true, "QPS": true, "Burst": true, "RateLimiter": true,
	"WarningHandler": true, "WarningHandlerWithContext": true,
}

// differences have another value for each field of a configuration that counts.
var differences = map[string]func(*rest.Config){
	"Host":            func(c *rest.Config) { c.Host = "other" },
	"APIPath":         func(c *rest.Config) { c.APIPath = "/other" },
	"Username":        func(c *rest.Config) { c.Username = "other" },
	"Password":        func(c *rest.Config) { c.Password = "other" },
	"BearerToken":     func(c *rest.Config) { c.BearerToken = "other" },
	"BearerTokenFile": func(c *rest.Config) { c.BearerTokenFile = "other" },
	"Impersonate":     func(c *rest.Config) { c.Impersonate.Groups = []string{"other"} },
	"AuthProvider": func(c *rest.Config) {
		c.AuthProvider = &api.AuthProviderConfig{Config: map[string]string{"id": "other"}}
	},
	"AuthConfigPersister": func(c *rest.Config) { c.AuthConfigPersister = persister{} },
	"ExecProvider":        func(c *rest.Config) { c.ExecProvider = &api.ExecConfig{Args: []string{"other"}} },
	"TLSClientConfig":     func(c *rest.Config) { c.CertData = []byte("other") },
	"UserAgent":           func(c *rest.Config) { c.UserAgent = "other" },
	"DisableCompression":  func(c *rest.Config) { c.DisableCompression = true },
	"Timeout":             func(c *rest.Config) { c.Timeout = 1 },
	"Transport":           func(c *rest.Config) { c.Transport = &http.Transport{} },
	"WrapTransport":       func(c *rest.Config) { c.WrapTransport = unwrapped },
	"Dial": func(c *rest.Config) {
		c.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, nil }
	},
	"Proxy": func(c *rest.Config) { c.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } },
}

func mustKey(t *testing.T, config *rest.Config, component string) clusterKey {
	t.Helper()
	result, err := keyOf(config, key(component))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestEachFieldOfAConfigurationIsComparedOrForbidsSharing(t *testing.T) {
	for field := range reflect.TypeFor[rest.Config]().Fields() {
		name := field.Name
		if irrelevant[name] {
			continue
		}
		change := differences[name]
		if change == nil {
			t.Errorf("client-go has a new field %s: compare it, or forbid sharing", name)
			continue
		}
		changed := &rest.Config{Host: "host"}
		change(changed)
		if mustKey(t, &rest.Config{Host: "host"}, "a") == mustKey(t, changed, "b") {
			t.Errorf("%s: two identities share a connection", name)
		}
		if mustKey(t, changed, "a") != mustKey(t, changed, "a") {
			t.Errorf("%s: each pass over a component opens a connection", name)
		}
	}
}

func TestEqualConfigurationsAreShared(t *testing.T) {
	shared := &http.Transport{}
	for name, config := range map[string]func() *rest.Config{
		"data": func() *rest.Config { return &rest.Config{Host: "host", BearerToken: "token"} },
		"exec": func() *rest.Config {
			exec := &api.ExecConfig{Command: "login", Env: []api.ExecEnvVar{{Name: "a"}}}
			return &rest.Config{Host: "host", ExecProvider: exec}
		},
		"auth":      func() *rest.Config { return &rest.Config{AuthProvider: &api.AuthProviderConfig{Name: "oidc"}} },
		"transport": func() *rest.Config { return &rest.Config{Transport: shared} },
	} {
		if mustKey(t, config(), "a") != mustKey(t, config(), "b") {
			t.Errorf("%s: equal configurations are not shared", name)
		}
	}
}

func TestConfigurationsThatCannotBeComparedAreNotShared(t *testing.T) {
	for name, config := range map[string]*rest.Config{
		"function":           {WrapTransport: unwrapped},
		"transport function": {Transport: transportFunc(nil)},
		"persister":          {AuthConfigPersister: persister{}},
	} {
		if mustKey(t, config, "a") == mustKey(t, config, "b") {
			t.Errorf("%s: two components share a connection", name)
		}
	}
	audience := func(name string) *rest.Config {
		return &rest.Config{ExecProvider: &api.ExecConfig{Config: &metav1.Status{Message: name}}}
	}
	if mustKey(t, audience("one"), "a") == mustKey(t, audience("two"), "b") {
		t.Error("the configuration of an exec plugin does not count")
	}
}
