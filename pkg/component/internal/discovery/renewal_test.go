package discovery

import (
	"errors"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resettable is a mapper that counts its resets.
type resettable struct {
	meta.RESTMapper
	resets int
}

func (r *resettable) Reset() { r.resets++ }

func TestWithRenewal(t *testing.T) {
	widgets := schema.GroupResource{Group: "example.com", Resource: "widgets"}
	unknown := apierrors.NewGenericServerResponse(http.StatusNotFound, "get", widgets, "own",
		"404 page not found", 0, true)
	absent, other := apierrors.NewNotFound(widgets, "own"), errors.New("other")
	for _, c := range []struct {
		name    string
		answers []error
		want    error
		resets  int
	}{
		{"an object that exists", []error{nil}, nil, 0},
		{"an object that does not exist", []error{absent}, absent, 0},
		{"another error", []error{other}, other, 0},
		{"a path that was served before", []error{unknown, nil}, nil, 1},
		{"a path that is not served", []error{unknown, unknown}, unknown, 1},
	} {
		mapper, sent := &resettable{}, 0
		err := WithRenewal(mapper, func() error {
			sent++
			return c.answers[sent-1]
		})
		if !errors.Is(err, c.want) || sent != len(c.answers) || mapper.resets != c.resets {
			t.Errorf("%s: the request returned %v after %d attempts and %d resets of the mapper", c.name, err, sent,
				mapper.resets)
		}
	}
}
