package discovery

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsUnknownPath reports whether err means that the API server does not serve the path of a request. It returns false if
// only the object is missing.
func IsUnknownPath(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// WithRenewal calls send, which sends a request to a path that it gets from the mapper. If the API server serves
// nothing at that path, because it no longer serves the version or because the type was defined again, WithRenewal
// resets the mapper and calls send once more.
func WithRenewal(mapper meta.RESTMapper, send func() error) error {
	err := send()
	m, ok := mapper.(meta.ResettableRESTMapper)
	if !ok || !IsUnknownPath(err) {
		return err
	}
	m.Reset()
	return send()
}
