package component

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

func TestWatchScopeIsChecked(t *testing.T) {
	for _, c := range []struct {
		name       string
		scope      WatchScope
		namespaces []string
		want       string
	}{
		{"no scope", "", nil, ""},
		{"the cluster", WatchScopeCluster, nil, ""},
		{"identities", WatchScopeIdentity, nil, ""},
		{"some namespaces", WatchScopeNamespaces, []string{"a", "b"}, ""},
		{"an unknown scope", "all", nil, `"all" is none of "cluster", "namespaces" and "identity"`},
		{
			"no namespaces", WatchScopeNamespaces, nil,
			`name the namespaces in WatchNamespaces, or let WatchScope be "cluster"`,
		},
		{"namespaces for the cluster", "", []string{"a"}, `namespaces need WatchScope to be "namespaces"`},
		{"namespaces for identities", WatchScopeIdentity, []string{"a"}, `namespaces need WatchScope to be "namespaces"`},
		{"the empty name, which means all namespaces", WatchScopeNamespaces, []string{""}, `"" is no name of a namespace`},
		{"a namespace twice", WatchScopeNamespaces, []string{"a", "b", "a"}, `namespace "a" is named twice`},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.scope.Check(c.namespaces)
			if (err != nil) != (c.want != "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAForbiddenListIsEmptyUntilOneWasAnswered(t *testing.T) {
	forbidden, broken := apierrors.NewForbidden(schema.GroupResource{Resource: "shops"}, "", nil), errors.New("broken")
	var answer error
	listWatch := toleratingListWatch(&cache.ListWatch{ListWithContextFunc: func(context.Context,
		metav1.ListOptions,
	) (runtime.Object, error) {
		return &metav1.PartialObjectMetadataList{Items: make([]metav1.PartialObjectMetadata, 1)}, answer
	}})
	for _, step := range []struct {
		name   string
		answer error
		want   error
		items  int
	}{
		{"an error of the list is returned", broken, broken, 0},
		{"a forbidden list is treated as empty", forbidden, nil, 0},
		{"a permitted list is returned", nil, nil, 1},
		{"a forbidden list after a permitted list is an error", forbidden, forbidden, 0},
	} {
		answer = step.answer
		list, err := listWatch.ListWithContext(t.Context(), metav1.ListOptions{})
		if !errors.Is(err, step.want) {
			t.Errorf("%s: got %v", step.name, err)
		}
		if err == nil && meta.LenList(list) != step.items {
			t.Errorf("%s: got %d items", step.name, meta.LenList(list))
		}
	}
}
