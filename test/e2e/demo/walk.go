package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/fairlead-io/fairlead/test/program"
)

// step is a part of the walk. What it shows, it checks; the first that fails ends the demo.
type step struct {
	title string
	run   func(*world, context.Context) error
}

var walk = []step{
	{"Install a Helm chart in three waves: settings, then a migration Job, then the shop itself", (*world).installShop},
	{"Look at the dependents of a component", (*world).showTree},
	{"Install a kustomization: an overlay with a patch on its base", (*world).installWeb},
	{"The platform team lets the operator handle a type that it does not know yet", (*world).grantBackups},
	{"Install Go templates that bring this type, and instances of it", (*world).installBackups},
	{"Upgrade the chart: a new image, and the end of the sale", (*world).upgradeShop},
	{"Somebody scales the Deployment by hand; it is repaired", (*world).repairScale},
	{"Somebody deletes the Service; it is repaired", (*world).repairDeletion},
	{"Delete the component that brought the type, while somebody else has an instance of it; it is refused", (*world).refuseDeletion},
	{"Delete this instance; the refused deletion goes through by itself", (*world).liftRefusal},
	{"Delete the rest, in reverse order", (*world).deleteRest},
}

// demonstrate walks through.
func demonstrate(ctx context.Context, w *world) error {
	watch := startWatch()
	w.say("From here on somebody works who may edit the namespace %q, and no more.", namespace)
	for _, s := range walk {
		w.step(s.title)
		if err := s.run(w, ctx); err != nil {
			return fmt.Errorf("step %d: %w", w.steps, err)
		}
	}
	w.printf("\n%s\n", w.in(bold, fmt.Sprintf("All %d checks held. The walk took %.1f s.", w.checks, watch.elapsed().Seconds())))
	return nil
}

// idle lets a person try.
func idle(ctx context.Context, w *world) error {
	w.step("Ready; Ctrl-C ends it all")
	w.say("The namespace %q is there for you. To try:", namespace)
	w.printf("\n")
	w.command("export KUBECONFIG=" + w.cluster.Kubeconfig())
	w.command(cliBinary, "apply shop test/e2e/demo/shop -n", namespace, "--wait")
	w.command(cliBinary, "tree shop -n", namespace)
	w.command(cliBinary, "delete shop -n", namespace, "--wait")
	w.printf("\n")
	w.say("The operator logs to %s.", filepath.Join(filepath.Dir(w.cluster.Kubeconfig()), operatorLog))
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, program.ErrInterrupted) {
		return err
	}
	return nil // That is how it ends well.
}
