package target

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
)

func TestAnOperatorIsKnownByItsConfiguration(t *testing.T) {
	token := func(claims string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	}
	inPod := token(
		`{"sub": "system:serviceaccount:tools:fairlead", "kubernetes.io": {"namespace": "tools", "pod": {"name": "fairlead-operator-6b5f9c7d8-x2x4z"}}}`)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(inPod+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const account = "system:serviceaccount:tools:fairlead"
	for _, c := range []struct {
		name   string
		config rest.Config
		want   Operator
	}{
		{"the token of a pod of a Deployment", rest.Config{BearerTokenFile: file}, Operator{
			User: account, Namespace: "tools",
			Deployment: "fairlead-operator",
		}},
		{
			"the token of another pod",
			rest.Config{BearerToken: token(`{"sub": "` + account +
				`", "kubernetes.io": {"namespace": "tools", "pod": {"name": "fairlead-0"}}}`)},
			Operator{User: account, Namespace: "tools"},
		},
		{"a token without a pod", rest.Config{BearerToken: token(`{"sub": "` + account + `"}`)}, Operator{User: account}},
		{"a token of another issuer", rest.Config{BearerToken: token(`{"sub": "jane"}`)}, Operator{}},
		{"an opaque token", rest.Config{BearerToken: "secret"}, Operator{}},
		{
			"an impersonated user",
			rest.Config{Impersonate: rest.ImpersonationConfig{UserName: account}, BearerToken: "secret"},
			Operator{User: account},
		},
		{"no credentials", rest.Config{}, Operator{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := OperatorOf(&c.config); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
