package apply

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

// checkApplicable returns an error if the target is no component of the ready-made operator, or if its name is invalid.
func checkApplicable(target cluster.Target) error {
	if !target.IsReadyMade() {
		return exit.BadUsage("%s: a folder can only be applied as a component of type components.%s", target,
			v1alpha1.GroupVersion.Group)
	}
	if problems := validation.IsDNS1123Subdomain(target.Name); len(problems) > 0 {
		return exit.BadUsage("component %q: %s", target.Name, strings.Join(problems, ", "))
	}
	return nil
}

// createNamespace creates a namespace if it does not exist.
func createNamespace(ctx context.Context, c client.Client, name string, done func(string)) error {
	err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case err != nil:
		return fmt.Errorf("create the namespace %s: %w", name, err)
	}
	done("namespace/" + name + " created")
	return nil
}

// warnOfAccount warns if a service account does not exist. A missing account is not an error, because roles are bound
// to its name, and the operator impersonates the name. There is no warning if the person may not read service accounts.
func warnOfAccount(ctx context.Context, f cluster.Object, account string, warn func(error)) {
	if account == "" {
		return
	}
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	key := client.ObjectKey{Namespace: f.Target.Namespace, Name: account}
	if err := f.Cluster.Get(ctx, key, obj); apierrors.IsNotFound(err) {
		warn(
			fmt.Errorf("service account %q does not exist in namespace %q; requests of %s as this account may be refused",
				account, f.Target.Namespace, f.Target),
		)
	}
}
