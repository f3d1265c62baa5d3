package function_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"time"
)

// quiet discards the messages of servers about clients that do not trust them.
var quiet = log.New(io.Discard, "", 0)

// otherCertificate is a certificate that none of the test servers use.
var otherCertificate, otherKey = selfSigned()

func selfSigned() (certificate, key []byte) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		panic(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(
			&pem.Block{Type: "CERTIFICATE", Bytes: raw},
		), pem.EncodeToMemory(
			&pem.Block{Type: "PRIVATE KEY", Bytes: text},
		)
}
