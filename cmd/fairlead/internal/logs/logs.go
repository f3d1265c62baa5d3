// Package logs merges the logs of containers.
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

// Opener opens the log of a container, until the context ends.
type Opener interface {
	Log(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error)
}

// Options say what of the logs is shown, and how.
type Options struct {
	// Tail is how many of the last lines of each container are shown; all where it is negative.
	Tail int64
	// Since is how old a line may be; zero is any age.
	Since time.Duration
	// Container is the only one that is shown; by default it is that of the pod's annotation, or the first. All shows every one of a pod, those
	// that initialise it included.
	Container string
	All       bool
	// Previous shows what containers wrote before they were restarted last, instead of what they write now.
	Previous bool
	// Timestamps shows when a line was written, and Prefix by whom.
	Timestamps, Prefix bool
	// Palette colours prefixes, so that they can be told apart.
	Palette terminal.Palette
}

// Source is a container that has a log.
type Source struct {
	Namespace, Pod, Container string
	// Instance tells it from the one before a restart.
	Instance string
}

// String names the source as kubectl does.
func (s Source) String() string { return fmt.Sprintf("pod/%s/%s", s.Pod, s.Container) }

// defaultContainer is the annotation of a pod that names the container which is meant where none is named, for kubectl too.
const defaultContainer = "kubectl.kubernetes.io/default-container"

// Sources returns the containers of a pod whose logs are wanted, as far as they have begun; of those before the last restart, as far as there
// was one.
func Sources(pod *corev1.Pod, o Options) []Source {
	instances := instancesOf(pod, o.Previous)
	var sources []Source
	for _, name := range containers(pod, o) {
		if instance := instances[name]; instance != "" {
			sources = append(sources, Source{Namespace: pod.Namespace, Pod: pod.Name, Container: name, Instance: instance})
		}
	}
	return sources
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

// containers returns the names of the containers that are wanted of a pod.
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

// instancesOf identifies the containers of a pod that have begun: those have a log. Those that were restarted have one of the time before.
func instancesOf(pod *corev1.Pod, previous bool) map[string]string {
	instances := map[string]string{}
	for _, list := range [][]corev1.ContainerStatus{
		pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses,
	} {
		for _, s := range list {
			// One that waits for its restart has the log of the time before, and is not counted as restarted yet.
			if s.LastTerminationState.Terminated != nil || !previous && (s.State.Running != nil || s.State.Terminated != nil) {
				instances[s.Name] = fmt.Sprintf("%s/%d", pod.UID, s.RestartCount)
			}
		}
	}
	return instances
}

// request returns what is asked of the API server. Timestamps are needed to merge, and to go on after an interruption.
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
