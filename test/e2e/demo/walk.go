package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/test/program"
)

// step is a step of the demo. It checks its results; the first failed check ends the demo.
type step struct {
	title string
	run   func(*world, context.Context) error
}

var walk = []step{
	{"Install a Helm chart in three waves: settings, then a migration Job, then the shop itself", (*world).installShop},
	{"Show the dependents of a component", (*world).showTree},
	{"Install a kustomization: an overlay with a patch on its base", (*world).installWeb},
	{
		"The platform team grants the operator rights on a type that the operator's rules do not contain",
		(*world).grantBackups,
	},
	{"Install Go templates that define this type, and instances of it", (*world).installBackups},
	{"Upgrade the chart: a new image, and the end of the sale", (*world).upgradeShop},
	{"Another user scales the Deployment; the operator repairs it", (*world).repairScale},
	{"Another user deletes the Service; the operator creates it again", (*world).repairDeletion},
	{
		"Delete the component that defines the type while a foreign instance exists; the deletion is blocked",
		(*world).refuseDeletion,
	},
	{"Delete this instance; the blocked deletion continues without a request", (*world).liftRefusal},
	{"Delete the other components; their dependents are deleted in reverse order", (*world).deleteRest},
}

// demonstrate runs all steps.
func demonstrate(ctx context.Context, w *world) error {
	watch := startWatch()
	w.say(
		"From here on, the commands run as a user who has edit rights in the namespace %q, and no other rights.",
		namespace,
	)
	for _, s := range walk {
		w.step(s.title)
		if err := s.run(w, ctx); err != nil {
			return fmt.Errorf("step %d: %w", w.steps, err)
		}
	}
	w.printf(
		"\n%s\n",
		w.in(bold, fmt.Sprintf("All %d checks passed. The steps took %.1f s.", w.checks, watch.elapsed().Seconds())),
	)
	return nil
}

// idle waits until the user interrupts the program.
func idle(ctx context.Context, w *world) error {
	w.step("Grant the operator all rights, so that it can apply any chart; for another cluster, see docs/install.md")
	if err := w.grantEverything(ctx); err != nil {
		return err
	}
	w.step("Ready; press Ctrl-C to stop the cluster and the operator")
	w.say("Commands to try:")
	w.printf("\n")
	w.command("export KUBECONFIG=" + w.cluster.Kubeconfig())
	w.command(cliBinary, "apply shop test/e2e/demo/shop --wait")
	w.command(cliBinary, "tree shop")
	w.command(cliBinary, "delete shop --wait")
	w.printf("\n")
	w.say("The log of the operator is %s.", w.operator.log)
	w.say("To run a changed operator in its place, in another terminal:")
	w.printf("\n")
	w.command("kill", strconv.Itoa(w.operator.process.PID()))
	w.command("make build &&", strings.Join(w.operator.command, " "))
	select {
	case <-ctx.Done():
	case <-w.operator.ended:
		w.sayEnded(ctx)
	}
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, program.ErrInterrupted) {
		return err
	}
	return nil // An interruption is the regular end.
}

// sayEnded says that the operator has ended, and how to start another one. It says nothing if the program ends, too.
func (w *world) sayEnded(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	w.step("The cluster keeps running without an operator: " + w.operator.why().Error())
	w.say("The log of the operator ends with:")
	program.Tail(w.operator.log, w.output())
	w.say("To start an operator again, in another terminal; press Ctrl-C here to stop the cluster:")
	w.printf("\n")
	w.command("make build &&", strings.Join(w.operator.command, " "))
}

// grantEverything grants the operator all rights, as helm has the rights of its user. Without them the operator could
// not apply the custom resources of a chart.
func (w *world) grantEverything(ctx context.Context) error {
	return w.admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "fairlead-everything"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: program.OperatorUser}},
	})
}
