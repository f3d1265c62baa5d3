package discovery

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fairlead-io/fairlead/internal/apitext"
)

// WithRenewal calls send, which sends a request to a path that it gets from the mapper. If the API server serves
// nothing at that path, because it no longer serves the version or because the type was defined again, WithRenewal
// resets the mapper and calls send once more.
func WithRenewal(mapper meta.RESTMapper, send func() error) error {
	err := send()
	m, ok := mapper.(meta.ResettableRESTMapper)
	if !ok || !apitext.UnknownPath(err) {
		return err
	}
	m.Reset()
	return send()
}
