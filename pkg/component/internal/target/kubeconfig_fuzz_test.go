package target

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
)

// A kubeconfig of a tenant must never lead to a file or a program of the operator.
func FuzzKubeconfig(f *testing.F) {
	f.Add([]byte(kubeconfig("server: https://a", "token: b")))
	f.Add([]byte(kubeconfig("server: https://a, proxy-url: 'http://b', tls-server-name: c", "tokenFile: /b")))
	f.Add([]byte(kubeconfig("server: https://a, certificate-authority-data: YQ==", "exec: {command: b}")))
	f.Add([]byte(kubeconfig("server: https://a, certificate-authority: /a", "username: a, password: b, as: c")))
	f.Add([]byte(kubeconfig("server: https://a, extensions: [{name: a, extension: {b: c}}]",
		"auth-provider: {name: gcp}")))
	f.Add([]byte("current-context: &a [*a]"))
	fuzzing.Run(f, func(t *testing.T, text []byte) {
		c, err := ParseKubeconfig(text)
		if err != nil {
			return
		}
		if c.BearerTokenFile != "" || c.CAFile != "" || c.CertFile != "" || c.KeyFile != "" {
			t.Errorf("the configuration names a file: %v", c)
		}
		if c.ExecProvider != nil || c.AuthProvider != nil {
			t.Errorf("the configuration names a program: %v", c)
		}
	})
}
