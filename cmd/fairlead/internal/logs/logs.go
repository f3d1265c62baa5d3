package logs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

// Opener opens the log of a container. The end of the context closes the log.
type Opener interface {
	Log(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error)
}

// Options select and format the logs.
type Options struct {
	// Tail is the number of last lines of each container. A negative number selects all lines.
	Tail int64
	// Since is the maximum age of a line. Zero means no limit.
	Since time.Duration
	// Container is the name of the container; by default it is the default container of the pod. All selects every
	// container of a pod, including init containers.
	Container string
	All       bool
	// Previous selects the lines before the last restart of each container.
	Previous bool
	// Timestamps shows the timestamp of each line, and Prefix its pod and container.
	Timestamps, Prefix bool
	// Palette contains the colours of prefixes.
	Palette terminal.Palette
}

// Container is a container with a log.
type Container struct {
	Namespace, Pod, Name string
	// Instance identifies a run of the container. It changes when the container restarts.
	Instance string
}

// String returns the name in the form of kubectl, such as pod/web/main.
func (s Container) String() string { return fmt.Sprintf("pod/%s/%s", s.Pod, s.Name) }

// defaultContainer is the annotation of kubectl with the default container of a pod.
const defaultContainer = "kubectl.kubernetes.io/default-container"

// Logged returns the selected containers of a pod that have a log.
func Logged(pod *corev1.Pod, o Options) []Container {
	instances := instancesOf(pod, o.Previous)
	var logged []Container
	for _, name := range containers(pod, o) {
		if instance := instances[name]; instance != "" {
			logged = append(logged, Container{Namespace: pod.Namespace, Pod: pod.Name, Name: name, Instance: instance})
		}
	}
	return logged
}

// Containers returns the names of all containers of a pod.
func Containers(pod *corev1.Pod) []string {
	var all []string
	for _, c := range pod.Spec.InitContainers {
		all = append(all, c.Name)
	}
	for _, c := range pod.Spec.Containers {
		all = append(all, c.Name)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		all = append(all, c.Name)
	}
	return all
}

// containers returns the names of the selected containers of a pod.
func containers(pod *corev1.Pod, o Options) []string {
	all, wanted := Containers(pod), o.Container
	switch {
	case o.All:
		return all
	case wanted == "" && pod.Annotations[defaultContainer] != "":
		wanted = pod.Annotations[defaultContainer]
	case wanted == "" && len(pod.Spec.Containers) > 0:
		wanted = pod.Spec.Containers[0].Name
	}
	if slices.Contains(all, wanted) {
		return []string{wanted}
	}
	return nil
}

// instancesOf returns an identifier of the run for each container with a log. These are the containers that have
// started or, if previous is true, the containers that have restarted.
func instancesOf(pod *corev1.Pod, previous bool) map[string]string {
	instances := map[string]string{}
	for _, list := range [][]corev1.ContainerStatus{
		pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses,
	} {
		for _, s := range list {
			// A container that waits for its restart has the log of its last run, and still has the restart count of this
			// run.
			if s.LastTerminationState.Terminated != nil || !previous && (s.State.Running != nil || s.State.Terminated != nil) {
				instances[s.Name] = fmt.Sprintf("%s/%d", pod.UID, s.RestartCount)
			}
		}
	}
	return instances
}

// request returns the options of the API. Timestamps are needed to merge logs, and to resume after an interruption.
func (o Options) request(container string, follow bool) *corev1.PodLogOptions {
	request := &corev1.PodLogOptions{Container: container, Follow: follow, Previous: o.Previous, Timestamps: true}
	if o.Tail >= 0 {
		request.TailLines = new(o.Tail)
	}
	if o.Since > 0 {
		request.SinceSeconds = new(max(int64(o.Since.Seconds()), 1))
	}
	return request
}
