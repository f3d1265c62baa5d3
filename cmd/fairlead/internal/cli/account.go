package cli

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
)

// warnOfAccount tells that a service account does not exist. That is no error, because rights are granted to a name, but seldom what was meant. Who
// may not read accounts is told nothing.
func (a *app) warnOfAccount(ctx context.Context, c *cluster.Cluster, target cluster.Target, account string) {
	if account == "" {
		return
	}
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	if err := c.Get(ctx, client.ObjectKey{Namespace: target.Namespace, Name: account}, obj); apierrors.IsNotFound(err) {
		a.warn(fmt.Errorf("there is no service account %q in namespace %q; %s acts by that name all the same, with what is granted to it",
			account, target.Namespace, target))
	}
}
