package bounded_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/bounded"
)

// number returns a number with the given number of bits.
func number(bits uint) *big.Int {
	return new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), bits), big.NewInt(1))
}

type rsaKey struct {
	Version int
	N       *big.Int
	E       int
	D, P, Q *big.Int
	More    []furtherPrime `asn1:"optional,omitempty"`
}

type furtherPrime struct{ Prime, Exponent, Coefficient *big.Int }

// giant returns an RSA key whose modulus has the given number of bits. Its factors are no primes.
func giant(bits uint) rsaKey {
	return rsaKey{N: number(bits), E: 65537, D: number(bits), P: number(bits / 2), Q: number(bits / 2)}
}

func der(t *testing.T, value any) []byte {
	t.Helper()
	text, err := asn1.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func inPEM(name string, content []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: name, Bytes: content})
}

// wrapped returns an RSA key in the form of PKCS #8.
func wrapped(t *testing.T, key rsaKey) []byte {
	t.Helper()
	return der(t, struct {
		Version    int
		Algorithm  struct{ ID asn1.ObjectIdentifier }
		PrivateKey []byte
	}{
		Algorithm:  struct{ ID asn1.ObjectIdentifier }{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}},
		PrivateKey: der(t, key),
	})
}

func TestPrivateKeysBeyondTheLimits(t *testing.T) {
	usual, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(curve)
	if err != nil {
		t.Fatal(err)
	}
	multi, long := giant(2048), giant(16_385)
	multi.Version, multi.More = 1, []furtherPrime{{number(8), number(8), number(8)}}
	short := giant(2048)
	short.D = number(100_000)
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"no text":                       {nil, ""},
		"no PEM":                        {[]byte("hush"), ""},
		"a block without a key":         {inPEM("PRIVATE KEY", []byte("hush")), ""},
		"an RSA key":                    {inPEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(usual)), ""},
		"an elliptic key":               {inPEM("PRIVATE KEY", pkcs8), ""},
		"the longest RSA key":           {inPEM("RSA PRIVATE KEY", der(t, giant(16_384))), ""},
		"a longer RSA key":              {inPEM("RSA PRIVATE KEY", der(t, long)), "the private key has more than 16384 bits"},
		"a longer RSA key in PKCS #8":   {inPEM("PRIVATE KEY", wrapped(t, long)), "the private key has more than 16384 bits"},
		"a longer RSA key in any block": {inPEM("EC PRIVATE KEY", der(t, long)), "the private key has more than 16384 bits"},
		"a long exponent": {
			inPEM("RSA PRIVATE KEY", der(t, short)),
			"the private key has more than 16384 bits",
		},
		"a longer RSA key after another": {
			append(inPEM("PARAMETERS", []byte("a")), inPEM("RSA PRIVATE KEY", der(t, long))...),
			"the private key has more than 16384 bits",
		},
		"an RSA key of three primes": {inPEM("RSA PRIVATE KEY", der(t, multi)), "the private key has more than two primes"},
		"a giant RSA key": {
			inPEM("RSA PRIVATE KEY", der(t, giant(800_000))),
			"the private key has more than 65536 bytes",
		},
		"a long text": {bytes.Repeat([]byte(" "), 65_537), "the private key has more than 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) { expectError(t, bounded.PrivateKey(c.text), c.want) })
	}
}

func expectError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil && want != "" || err != nil && err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

// certificate returns a certificate with an RSA key of the given number of bits. Its signature is not valid.
func certificate(t *testing.T, bits uint) []byte {
	t.Helper()
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	text, err := x509.CreateCertificate(rand.Reader, template, template, &rsa.PublicKey{N: number(bits), E: 65537}, signer)
	if err != nil {
		t.Fatal(err)
	}
	return inPEM("CERTIFICATE", text)
}

func TestCertificatesBeyondTheLimits(t *testing.T) {
	usual, longest, long := certificate(t, 2048), certificate(t, 16_384), certificate(t, 16_385)
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"no text":                         {nil, ""},
		"no certificate":                  {[]byte("hush"), ""},
		"a block without a certificate":   {inPEM("CERTIFICATE", []byte("hush")), ""},
		"certificates":                    {bytes.Join([][]byte{usual, longest}, nil), ""},
		"a certificate with a longer key": {long, "a certificate has a public key of more than 16384 bits"},
		"a longer key after other blocks": {
			bytes.Join([][]byte{inPEM("A", []byte("a")), usual, long}, nil),
			"a certificate has a public key of more than 16384 bits",
		},
		"many certificates": {
			bytes.Repeat(usual, 1+(1<<20)/len(usual)),
			"the certificates have more than 1048576 bytes",
		},
		"a long text": {
			[]byte(strings.Repeat(" ", 1<<20+1)),
			"the certificates have more than 1048576 bytes",
		},
		"a long text that is not too long yet": {[]byte(strings.Repeat(" ", 1<<20)), ""},
	} {
		t.Run(name, func(t *testing.T) { expectError(t, bounded.Certificates(c.text), c.want) })
	}
}
