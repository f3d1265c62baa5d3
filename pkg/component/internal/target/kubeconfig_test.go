package target

import (
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
)

// kubeconfig returns a kubeconfig with the given fields of its cluster and its user.
func kubeconfig(cluster, user string) string {
	return `{"apiVersion":"v1","kind":"Config","current-context":"there",
"contexts":[{"name":"there","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{` + cluster + `}}],
"users":[{"name":"u","user":{` + user + `}}]}`
}

// giantKey returns an RSA key of the given number of bits, whose factors are no primes, in PEM form and as base64.
func giantKey(bits uint) string {
	n := new(big.Int).Lsh(big.NewInt(1), bits-1)
	key, err := asn1.Marshal(struct {
		Version      int
		N            *big.Int
		E            int
		D, P, Q      *big.Int
		DP, DQ, QInv *big.Int
	}{N: n, E: 65537, D: n, P: n, Q: n, DP: n, DQ: n, QInv: n})
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: key}))
}

func TestParseKubeconfig(t *testing.T) {
	const server, token = `"server":"https://api.example.com:6443"`, `"token":"t0ken-s3cret"`
	oversized := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", 1<<20+1)))
	for _, c := range []struct{ name, kubeconfig, err string }{
		{"a token", kubeconfig(server, token), ""},
		{"a password", kubeconfig(server, `"username":"u","password":"p"`), ""},
		{"no credentials", kubeconfig(server, ""), ""},
		{
			"a server without TLS", kubeconfig(`"server":"http://api.example.com"`, token),
			"the server of the cluster is not a URL that begins with https://",
		},
		{
			"a server without TLS on the same machine", kubeconfig(`"server":"http://127.0.0.1:8080"`, token),
			"the server of the cluster is not a URL that begins with https://",
		},
		{
			"an HTTP proxy", kubeconfig(server+`,"proxy-url":"http://me:hush@proxy.example.com"`, token),
			"proxy-url would send the requests of the operator through another server; remove proxy-url",
		},
		{
			"a SOCKS proxy", kubeconfig(server+`,"proxy-url":"socks5://127.0.0.1:1"`, token),
			"proxy-url would send the requests of the operator through another server; remove proxy-url",
		},
		{"certificates in the kubeconfig", kubeconfig(server+`,"certificate-authority-data":"eA=="`, token), ""},
		{"no YAML", "t0ken-s3cret: [", "the content is not a kubeconfig"},
		{"a field of the wrong type", kubeconfig(`"server":["t0ken-s3cret"]`, token), "the content is not a kubeconfig"},
		{"nothing", "", "the kubeconfig has no current-context; set it"},
		{
			"no current context", strings.Replace(kubeconfig(server, token), "current-context", "former-context", 1),
			"the kubeconfig has no current-context; set it",
		},
		{
			"a current context that is missing", strings.Replace(kubeconfig(server, token), `"there"`, `"elsewhere"`, 1),
			"the kubeconfig lacks the context that current-context names, or the cluster or user of that context",
		},
		{
			"a user that is missing", strings.Replace(kubeconfig(server, token), `"user":"u"`, `"user":"v"`, 1),
			"the kubeconfig lacks the context that current-context names, or the cluster or user of that context",
		},
		{"no server", kubeconfig("", token), "the server of the cluster is not a URL that begins with https://"},
		{
			"a server that is no URL", kubeconfig(`"server":"t0ken-s3cret:%zz"`, token),
			"the server of the cluster is not a URL that begins with https://",
		},
		{
			"a server of another scheme", kubeconfig(`"server":"unix:///run/api.sock"`, token),
			"the server of the cluster is not a URL that begins with https://",
		},
		{
			"a password in the server", kubeconfig(`"server":"https://u:t0ken-s3cret@api.example.com"`, token),
			"the server of the cluster contains a password; move the password to the user",
		},
		{
			"a certificate authority on disk", kubeconfig(server+`,"certificate-authority":"/etc/ca"`, token),
			"certificate-authority names a file, but components must not use files of the operator; " +
				"use certificate-authority-data",
		},
		{
			"a program", kubeconfig(server, `"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"sh"}`),
			"exec would run a program in the operator; use a token, or a client certificate",
		},
		{
			"an authentication provider", kubeconfig(server, `"auth-provider":{"name":"oidc"}`),
			"auth-provider would run a program in the operator; use a token, or a client certificate",
		},
		{
			"a token on disk", kubeconfig(server, `"tokenFile":"/etc/token"`),
			"tokenFile names a file, but components must not use files of the operator; use token",
		},
		{
			"a token on disk beside a token", kubeconfig(server, token+`,"tokenFile":"/etc/token"`),
			"tokenFile names a file, but components must not use files of the operator; use token",
		},
		{
			"a client certificate on disk", kubeconfig(server, `"client-certificate":"/etc/crt"`),
			"client-certificate names a file, but components must not use files of the operator; use client-certificate-data",
		},
		{
			"a client key on disk", kubeconfig(server, `"client-key":"/etc/key"`),
			"client-key names a file, but components must not use files of the operator; use client-key-data",
		},
		{
			"many nodes", kubeconfig(server, token+`,"more":[`+strings.Repeat("{},", maxKubeconfigNodes)+"{}]"),
			"the kubeconfig is refused: more than 20000 maps, lists, values and keys: the limit protects the memory " +
				"of the operator",
		},
		{
			"deep lists", kubeconfig(server, token+`,"more":`+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)),
			"the kubeconfig is refused: maps and lists nest more than 1000 deep",
		},
		{
			"a giant client key", kubeconfig(server, `"client-certificate-data":"eA==","client-key-data":"`+
				giantKey(800_000)+`"`),
			"client-key-data is refused: the private key has more than 65536 bytes",
		},
		{
			"a long client key", kubeconfig(server, `"client-certificate-data":"eA==","client-key-data":"`+giantKey(20_000)+`"`),
			"client-key-data is refused: the private key has more than 16384 bits",
		},
		{
			"many client certificates", kubeconfig(server, `"client-key-data":"eA==","client-certificate-data":"`+oversized+`"`),
			"client-certificate-data is refused: the certificates have more than 1048576 bytes",
		},
		{
			"many CA certificates", kubeconfig(server+`,"certificate-authority-data":"`+oversized+`"`, token),
			"certificate-authority-data is refused: the certificates have more than 1048576 bytes",
		},
		{
			"credentials that contradict each other", kubeconfig(server, token+`,"username":"u","password":"p"`),
			"the cluster or the user in the kubeconfig is incomplete, or has contradictory fields",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, err := ParseKubeconfig([]byte(c.kubeconfig))
			switch {
			case c.err == "" && err != nil:
				t.Fatal(err)
			case c.err == "" && !strings.Contains(config.Host, "api.example.com"):
				t.Errorf("the configuration has the wrong server %s", config.Host)
			case c.err != "" && (err == nil || err.Error() != c.err):
				t.Errorf("got %v, want %q", err, c.err)
			}
		})
	}
}

func TestParseKubeconfigIgnoresWhatTheCurrentContextDoesNotUse(t *testing.T) {
	text := strings.Replace(kubeconfig(`"server":"https://api.example.com"`, `"token":"t"`), `"users":[`,
		`"users":[{"name":"other","user":{"tokenFile":"/etc/token"}},`, 1)
	if _, err := ParseKubeconfig([]byte(text)); err != nil {
		t.Error(err)
	}
}
