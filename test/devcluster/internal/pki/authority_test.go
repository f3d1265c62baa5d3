package pki

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"testing"
)

func TestCertificatesAreTrustedForTheirUse(t *testing.T) {
	authority, err := NewAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	server, err := authority.Server("server", "127.0.0.1", "localhost")
	if err != nil {
		t.Fatal(err)
	}
	client, err := authority.Client("joe", "crew", "deck")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Certificate)

	for _, host := range []string{"127.0.0.1", "localhost"} {
		if _, err := leaf(t, server).Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
			t.Errorf("the TLS connection to the server at %s failed: %v", host, err)
		}
	}
	asClient := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := leaf(t, client).Verify(asClient); err != nil {
		t.Errorf("client: %v", err)
	}
	if _, err := leaf(t, server).Verify(asClient); err == nil {
		t.Error("a server's certificate is accepted from a client")
	}
	subject := leaf(t, client).Subject
	if subject.CommonName != "joe" || !slices.Equal(subject.Organization, []string{"crew", "deck"}) {
		t.Errorf("want the user joe in the groups crew and deck, got %s", subject)
	}
}

func TestALoadedAuthoritySigns(t *testing.T) {
	made, err := NewAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := LoadAuthority(made.Pair)
	if err != nil {
		t.Fatal(err)
	}
	client, err := loaded.Client("joe")
	if err != nil {
		t.Fatal(err)
	}
	if err := leaf(t, client).CheckSignatureFrom(leaf(t, made.Pair)); err != nil {
		t.Error(err)
	}
}

func TestLoadAuthorityRefusesWhatIsNoAuthority(t *testing.T) {
	made, err := NewAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string]Pair{
		"nothing":               {},
		"no key":                {Certificate: made.Certificate},
		"a key for certificate": {Certificate: made.Key, Key: made.Key},
		"a certificate for key": {Certificate: made.Certificate, Key: made.Certificate},
	} {
		if _, err := LoadAuthority(pair); err == nil {
			t.Errorf("%s: the certificate and its key were loaded without an error", name)
		}
	}
}

func leaf(t *testing.T, pair Pair) *x509.Certificate {
	t.Helper()
	loaded, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	return loaded.Leaf
}
