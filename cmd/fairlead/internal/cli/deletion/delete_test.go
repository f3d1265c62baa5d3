package deletion

import (
	"bytes"
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
)

func TestARequestThatConflictsIsNoSignThatTheComponentWasDeleted(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	components := v1alpha1.GroupVersion.WithResource("components")
	conflict := apierrors.NewConflict(components.GroupResource(), "shop", errors.New("the object has been modified"))
	for _, c := range []struct {
		name string
		// now is the UID of the existing component with this name. It is empty if no component exists.
		now  types.UID
		left bool
	}{
		{"the same component exists", "first", true},
		{"a new component has its name", "second", false},
		{"no component exists", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			served := fake.NewClientBuilder().WithScheme(scheme)
			if c.now != "" {
				served.WithObjects(&v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "shop", UID: c.now}})
			}
			refusing := interceptor.NewClient(served.Build(), interceptor.Funcs{
				Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
					return conflict
				},
			})
			mapping := &meta.RESTMapping{
				Resource: components, GroupVersionKind: v1alpha1.GroupVersion.WithKind("Component"),
				Scope: meta.RESTScopeNamespace,
			}
			target := cluster.Target{Mapping: mapping, Namespace: "team", Name: "shop"}
			obj := target.Blank()
			obj.SetUID("first")

			var out bytes.Buffer
			o := &options{Console: command.NewConsole(genericiooptions.IOStreams{Out: &out, ErrOut: &out})}
			after, err := o.requestAgain(t.Context(), cluster.Object{
				Cluster: &cluster.Cluster{Client: refusing}, Target: target,
				Live: obj,
			})
			if err != nil || (after != nil) != c.left || out.Len() > 0 {
				t.Errorf("the deletion left the component %v, returned the error %v and printed %q", after, err, out.String())
			}
			if after != nil && after.GetUID() != c.now {
				t.Errorf("the deletion found the component with the UID %s", after.GetUID())
			}
		})
	}
}
