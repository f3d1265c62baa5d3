package discovery

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsUnknownPath reports whether an API server serves nothing at the path of a request, as opposed to a missing object.
func IsUnknownPath(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// WithRenewal sends a request whose path comes from a mapper. If the API server serves nothing at that path, because a
// version is served no more or the type was defined again, it resets the mapper and sends the request once more. send
// must ask the mapper each time.
func WithRenewal(mapper meta.RESTMapper, send func() error) error {
	err := send()
	m, ok := mapper.(meta.ResettableRESTMapper)
	if !ok || !IsUnknownPath(err) {
		return err
	}
	m.Reset()
	return send()
}
