package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
)

// errAnswer stands for errors whose text can contain a part of a response.
var errAnswer = errors.New("the response of the server cannot be read")

// withoutAnswer replaces an error whose text can contain a part of a response. The server may be one that only the
// operator can reach: net/http quotes the first line of a response that is not HTTP, crypto/x509 quotes names in a
// certificate, and package net quotes the host to which a server redirected.
func withoutAnswer(err error, redirected bool) error {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	answered, byProxy := errors.AsType[*proxyAnswer](err)
	failed, network := errors.AsType[net.Error](err)
	switch {
	case untrusted:
		return withoutNames(err)
	case byProxy:
		return answered
	case network && redirected:
		return withoutHost(failed)
	case network, errors.Is(err, errRedirect), errors.Is(err, errUnlimited), errors.Is(err, context.Canceled),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case noTLS, errors.Is(err, http.ErrSchemeMismatch):
		return errors.New("the server does not use TLS")
	}
	return errAnswer
}

// withoutNames returns why a certificate is not trusted, without the names in the certificate.
func withoutNames(err error) error {
	_, ofOtherHost := errors.AsType[x509.HostnameError](err)
	_, ofUnknownAuthority := errors.AsType[x509.UnknownAuthorityError](err)
	_, noAuthorities := errors.AsType[x509.SystemRootsError](err)
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	switch {
	case ofOtherHost:
		return errors.New("the certificate is for another host")
	case ofUnknownAuthority:
		return errors.New("the certificate is signed by an unknown authority")
	case noAuthorities:
		return errors.New("the certificate authorities of the system cannot be read")
	case isInvalid && invalid.Reason == x509.Expired:
		return errors.New("the certificate has expired or is not valid yet")
	}
	return errors.New("the certificate is not valid")
}

// withoutHost returns an error of the network after a redirect, without the host, which a server chose.
func withoutHost(err net.Error) error {
	if cause, ok := errors.AsType[syscall.Errno](err); ok {
		return fmt.Errorf("the host of the redirect cannot be reached: %w", cause)
	}
	if err.Timeout() {
		return errors.New("the host of the redirect did not answer in time")
	}
	return errors.New("the host of the redirect cannot be reached")
}

// proxyAnswer is the error of a proxy that does not connect to the server. No tenant chose the proxy, so its status
// code is shown.
type proxyAnswer struct{ code int }

func (e *proxyAnswer) Error() string { return "the proxy answered " + statusText(e.code) }

// checkProxyAnswer is an http.Transport.OnProxyConnectResponse. Without it, net/http returns the text of the proxy
// without the status code.
func checkProxyAnswer(_ context.Context, _ *url.URL, _ *http.Request, response *http.Response) error {
	if response.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyAnswer{code: response.StatusCode}
}
