package inspection

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/internal/leader"
)

func TestAFollowedStatusIsShownAgainWhenTheOperatorEndsOrBegins(t *testing.T) {
	t.Setenv("FAIRLEAD_OPERATOR_NAMESPACE", leader.DefaultNamespace)
	synctest.Test(t, func(t *testing.T) {
		renewed := func() *coordinationv1.Lease {
			return &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: leader.DefaultNamespace, Name: leader.Name},
				Spec:       coordinationv1.LeaseSpec{RenewTime: new(metav1.NowMicro())},
			}
		}
		served := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(renewed()).Build()
		var out bytes.Buffer
		w := &statusWatch{
			cluster: &cluster.Cluster{Client: served},
			target: cluster.Target{Namespace: "apps", Name: "shop", Mapping: &meta.RESTMapping{
				GroupVersionKind: v1alpha1.GroupVersion.WithKind("Component"),
			}},
			out: show.Output{Writer: &out},
		}
		if err := w.show(show.Status{Kind: "Status"}); err != nil {
			t.Fatal(err)
		}
		out.Reset()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go w.checkOperator(ctx)
		pass := func(interval time.Duration) string {
			time.Sleep(interval)
			synctest.Wait()
			defer out.Reset()
			return out.String()
		}
		if got := pass(59 * time.Second); got != "" {
			t.Errorf("an operator that serves:\n%s", got)
		}
		if got := pass(20 * time.Second); strings.Count(got, "no operator has held the Lease") != 1 {
			t.Errorf("an operator that ended:\n%s", got)
		}
		if got := pass(5 * time.Minute); got != "" {
			t.Errorf("there is still no operator:\n%s", got)
		}
		if err := served.Patch(ctx, renewed(), client.Merge); err != nil {
			t.Fatal(err)
		}
		if got := pass(31 * time.Second); got == "" || strings.Contains(got, "Operator") {
			t.Errorf("an operator that begins:\n%s", got)
		}
	})
}
