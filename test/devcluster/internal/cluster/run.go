package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/test/devcluster/internal/cloud"
	"github.com/fairlead-io/fairlead/test/devcluster/internal/echo"
)

// Run starts a cluster, writes one line to out when it is ready, and runs until ctx ends. For each message from
// restarts it kills the API server and starts it again; it writes another line when the API server is ready. When Run
// returns, no process is running. It returns nil after ctx has ended, a UsageError if the configuration or the folder
// is invalid, and a DiedError if a component ended without being stopped. The logs and credentials stay in the folder;
// the data is deleted.
func Run(ctx context.Context, config Config, restarts <-chan os.Signal, out io.Writer) error {
	if err := config.validate(); err != nil {
		return err
	}
	folder, err := ClaimFolder(config.Dir)
	if err != nil {
		return err
	}
	components, err := newProcesses(config.Executable, folder)
	if err != nil {
		return errors.Join(err, folder.Release())
	}
	err = serve(ctx, config, folder, components, restarts, out)
	return errors.Join(err, components.stop(), folder.dropData(), folder.Release())
}

// serve starts the cluster and waits for its end. The caller stops the components.
func serve(
	ctx context.Context,
	config Config,
	folder Folder,
	components *processes,
	restarts <-chan os.Signal,
	out io.Writer,
) error {
	begin := time.Now()
	if err := boot(ctx, config, folder, components); err != nil {
		if ctx.Err() != nil {
			return nil // The cluster was stopped during its start, so errors of the start are ignored.
		}
		return err
	}
	_, err := fmt.Fprintf(
		out,
		"ready in %.1fs: %s, kubeconfig %s\n",
		time.Since(begin).Seconds(),
		config.describe(),
		folder.Kubeconfig(),
	)
	if err != nil {
		return fmt.Errorf("announce the cluster: %w", err)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-components.died:
			return err
		case <-restarts:
			if err := restartAPIServer(ctx, folder, components, out); err != nil {
				return err
			}
		}
	}
}

// restartAPIServer kills the API server and starts it again. It returns when the API server is ready, or when the
// cluster must end.
func restartAPIServer(ctx context.Context, folder Folder, components *processes, out io.Writer) error {
	client, err := newClient(folder)
	if err != nil {
		return err
	}
	killed, err := components.restart(APIServer)
	if err != nil {
		return err
	}
	err = waitFor(ctx, APIServer, components.died, apiServerReady(client))
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(
		out,
		"ready again; the API server was killed at",
		killed.Format(time.RFC3339Nano),
	); err != nil {
		return fmt.Errorf("announce the API server: %w", err)
	}
	return nil
}

// boot starts the components and returns when the cluster is ready.
func boot(ctx context.Context, config Config, folder Folder, components *processes) error {
	ports, err := reservePorts()
	if err != nil {
		return err
	}
	err = errors.Join(writeCredentials(folder, ports.apiServer.url("https")), writeConfigurations(folder, config))
	if err != nil {
		return err
	}
	client, err := newClient(folder)
	if err != nil {
		return err
	}
	err = components.startAll(
		component{Etcd, etcdArguments(folder, ports)},
		component{APIServer, apiServerArguments(folder, ports, config)},
	)
	if err != nil {
		return err
	}
	if err := waitFor(ctx, APIServer, components.died, apiServerReady(client)); err != nil || config.NoControllers {
		return err
	}
	return bootControllers(ctx, config, folder, components, client)
}

// bootControllers starts the components that need an API server. The components wait for each other.
func bootControllers(
	ctx context.Context,
	config Config,
	folder Folder,
	components *processes,
	client kubernetes.Interface,
) error {
	err := components.startAll(
		component{ControllerManager, controllerManagerArguments(folder)},
		component{Scheduler, schedulerArguments(folder)},
	)
	if err != nil {
		return err
	}
	if config.Nodes > 0 {
		if err := components.startAll(component{Kwok, kwokArguments(folder)}); err != nil {
			return err
		}
	}
	if err := createNodes(ctx, client, config.Nodes); err != nil {
		return err
	}
	if err := waitFor(ctx, "nodes", components.died, nodesReady(client, config.Nodes)); err != nil {
		return err
	}
	if err := waitFor(ctx, ControllerManager, components.died, controllersReady(client)); err != nil {
		return err
	}
	return bootExtras(ctx, config, folder, client)
}

// bootExtras starts what runs in this process, until the context ends.
func bootExtras(ctx context.Context, config Config, folder Folder, client kubernetes.Interface) error {
	if config.Cloud {
		if err := cloud.Start(ctx, client); err != nil {
			return err
		}
	}
	if !config.Echo {
		return nil
	}
	authority, err := readAuthority(folder.path)
	if err != nil {
		return err
	}
	return echo.Start(ctx, client, authority, folder.file(echoSocket))
}

// reservePorts reserves the ports until this process ends.
func reservePorts() (ports, error) {
	var all ports
	for _, reserved := range []*port{&all.etcdClient, &all.etcdPeer, &all.apiServer} {
		next, err := reservePort()
		if err != nil {
			return ports{}, err
		}
		*reserved = next
	}
	return all, nil
}
