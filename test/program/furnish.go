package program

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// Furnish installs the types and rights of the operator in a new cluster. It returns a client of the administrator with
// the given user agent, and the operator's credentials.
func Furnish(ctx context.Context, cluster *testcluster.Cluster, agent string) (client.Client, testcluster.User, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, testcluster.User{}, err
	}
	c := cluster.Config()
	c.UserAgent = agent
	admin, err := client.New(c, client.Options{Scheme: scheme})
	if err != nil {
		return nil, testcluster.User{}, err
	}
	if err := config.Install(ctx, admin); err != nil {
		return nil, testcluster.User{}, err
	}
	operator, err := OperatorIdentity(ctx, cluster)
	return admin, operator, err
}
