package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

const (
	// validity is longer than any temporary cluster exists.
	validity = 5 * 365 * 24 * time.Hour
	// clockSkew is the time before its creation from which a certificate is valid. So a process whose clock is slightly
	// behind can use the certificate at once.
	clockSkew = 5 * time.Minute
)

// Pair is a certificate and its private key, both in PEM.
type Pair struct {
	Certificate []byte
	Key         []byte
}

// Authority signs certificates.
type Authority struct {
	Pair

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority returns a self-signed authority with a new key.
func NewAuthority(commonName string) (Authority, error) {
	template := x509.Certificate{
		Subject:               pkix.Name{CommonName: commonName},
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	pair, err := sign(&template, nil, nil)
	if err != nil {
		return Authority{}, err
	}
	return LoadAuthority(pair)
}

// LoadAuthority reads an authority that NewAuthority has created.
func LoadAuthority(pair Pair) (Authority, error) {
	certBlock, _ := pem.Decode(pair.Certificate)
	keyBlock, _ := pem.Decode(pair.Key)
	if certBlock == nil || keyBlock == nil {
		return Authority{}, errors.New("certificate authority: not PEM")
	}
	certificate, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return Authority{}, fmt.Errorf("certificate authority: %w", err)
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	if err != nil {
		return Authority{}, fmt.Errorf("key of the certificate authority: %w", err)
	}
	return Authority{Pair: pair, certificate: certificate, key: key}, nil
}

// Client returns a client certificate. Kubernetes uses the common name as the user, and the organizations as the
// groups.
func (a Authority) Client(user string, groups ...string) (Pair, error) {
	return sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, a.certificate, a.key)
}

// Server returns a serving certificate for the given IP addresses and DNS names.
func (a Authority) Server(commonName string, hosts ...string) (Pair, error) {
	template := x509.Certificate{
		Subject:     pkix.Name{CommonName: commonName},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return sign(&template, a.certificate, a.key)
}

// NewKeyPair returns a private key and its public key. The public key is in the field of the certificate. Service
// account tokens are signed with such a key pair.
func NewKeyPair() (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("generate a key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return Pair{}, fmt.Errorf("encode a public key: %w", err)
	}
	private, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Certificate: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), Key: private}, nil
}

// sign completes the template with a new key, a serial number and its validity, and signs it. If parent is nil, the
// certificate is self-signed.
func sign(template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("generate a key: %w", err)
	}
	if parent == nil {
		parent, parentKey = template, key
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return Pair{}, fmt.Errorf("generate a serial number: %w", err)
	}
	now := time.Now()
	template.SerialNumber = serial
	template.NotBefore = now.Add(-clockSkew)
	template.NotAfter = now.Add(validity)

	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		return Pair{}, fmt.Errorf("sign the certificate of %q: %w", template.Subject.CommonName, err)
	}
	private, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), Key: private}, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
