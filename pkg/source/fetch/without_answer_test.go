package fetch

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
)

func TestErrorsQuoteNothingOfACertificate(t *testing.T) {
	for _, c := range []struct {
		cause error
		want  string
	}{
		{
			x509.HostnameError{Certificate: &x509.Certificate{}, Host: "secret"},
			"the certificate is for another host",
		},
		{x509.UnknownAuthorityError{}, "the certificate is signed by an unknown authority"},
		{x509.SystemRootsError{}, "the certificate authorities of the system cannot be read"},
		{
			x509.CertificateInvalidError{Reason: x509.Expired, Detail: "secret"},
			"the certificate has expired or is not valid yet",
		},
		{
			x509.CertificateInvalidError{Reason: x509.CANotAuthorizedForThisName, Detail: "secret"},
			"the certificate is not valid",
		},
	} {
		err := withoutAnswer(&tls.CertificateVerificationError{Err: c.cause}, false)
		if err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
