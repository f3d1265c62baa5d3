package bounded

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
)

// Limits of keys and certificates. Checking or using an RSA key takes time that grows faster than the square of its
// length, and cannot be interrupted.
const (
	// MaxPrivateKeyBytes is the maximum size of a private key in PEM form.
	MaxPrivateKeyBytes = 64 << 10
	// MaxCertificatesBytes is the maximum size of a chain of certificates, or of a list of CA certificates, in PEM form.
	// The CA certificates of a usual Linux system have about a fifth.
	MaxCertificatesBytes = 1 << 20
	// MaxRSABits is the maximum length of an RSA key.
	MaxRSABits = 16_384
)

// PrivateKey returns an error if a private key in PEM form exceeds MaxPrivateKeyBytes or MaxRSABits, or is an RSA key
// with more than two primes. It only decodes the key, which takes little time. It returns nil for a text without a
// valid key. Errors quote nothing of the key.
func PrivateKey(text []byte) error {
	if len(text) > MaxPrivateKeyBytes {
		return &LimitError{Reason: fmt.Sprintf("the private key has more than %d bytes", MaxPrivateKeyBytes)}
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if err := rsaPrivateKey(block.Bytes); err != nil {
			return err
		}
	}
	return nil
}

// pkcs1 is an RSAPrivateKey of RFC 8017, appendix A.1.2.
type pkcs1 struct {
	Version       int
	N             *big.Int
	E             int
	D, P, Q       *big.Int
	Dp, Dq, Qinv  *big.Int        `asn1:"optional"`
	FurtherPrimes []asn1.RawValue `asn1:"optional,omitempty"`
}

// pkcs8 is the PrivateKeyInfo of RFC 5208.
type pkcs8 struct {
	Version    int
	Algorithm  asn1.RawValue
	PrivateKey []byte
}

// rsaPrivateKey checks a private key in the form of PKCS #1 or PKCS #8. crypto/x509 decodes both with encoding/asn1
// too, so it accepts no key that is not decoded here.
func rsaPrivateKey(der []byte) error {
	var wrapped pkcs8
	if decodes(der, &wrapped) {
		der = wrapped.PrivateKey
	}
	var key pkcs1
	if !decodes(der, &key) {
		return nil
	}
	for _, number := range []*big.Int{key.N, key.D, key.P, key.Q, key.Dp, key.Dq, key.Qinv} {
		if number != nil && number.BitLen() > MaxRSABits {
			return &LimitError{Reason: fmt.Sprintf("the private key has more than %d bits", MaxRSABits)}
		}
	}
	if len(key.FurtherPrimes) > 0 {
		return &LimitError{Reason: "the private key has more than two primes"}
	}
	return nil
}

func decodes(der []byte, into any) bool {
	_, err := asn1.Unmarshal(der, into)
	return err == nil
}

// Certificates returns an error if certificates in PEM form exceed MaxCertificatesBytes, or if the RSA key of a
// certificate exceeds MaxRSABits. It returns nil for a text without a valid certificate.
func Certificates(text []byte) error {
	if len(text) > MaxCertificatesBytes {
		return &LimitError{Reason: fmt.Sprintf("the certificates have more than %d bytes", MaxCertificatesBytes)}
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		// This decodes the public key, and checks no signature.
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		if key, ok := certificate.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() > MaxRSABits {
			return &LimitError{Reason: fmt.Sprintf("a certificate has a public key of more than %d bits", MaxRSABits)}
		}
	}
	return nil
}
