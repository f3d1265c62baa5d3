package components

import (
	"os"
	_ "time/tzdata" // The controller manager needs time zones for CronJobs, and the machine may have no such files.

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // The main packages of the programs import these three packages.
	_ "k8s.io/component-base/metrics/prometheus/clientgo" //
	_ "k8s.io/component-base/metrics/prometheus/version"  //
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/fairlead-io/fairlead/test/devcluster/internal/cluster"
)

// Lookup returns the main function of the component with the given name. The function reads os.Args, runs the component
// until it ends, and returns its exit code.
func Lookup(name string) (run func() int, found bool) {
	switch name {
	case cluster.Etcd:
		return runEtcd, true
	case cluster.APIServer:
		return runCommand(apiserver.NewAPIServerCommand), true
	case cluster.ControllerManager:
		return runCommand(controllermanager.NewControllerManagerCommand), true
	case cluster.Scheduler:
		return runCommand(func() *cobra.Command { return scheduler.NewSchedulerCommand() }), true
	case cluster.Kwok:
		return runKwok, true
	default:
		return nil, false
	}
}

func runEtcd() int {
	etcdmain.Main(os.Args)
	return 0
}

func runCommand(newCommand func() *cobra.Command) func() int {
	return func() int { return cli.Run(newCommand()) }
}
