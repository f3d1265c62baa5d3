package logs_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/logs"
)

// kubelet returns the given answers, in place of a node.
type kubelet struct {
	mu       sync.Mutex
	answers  map[string][]answer
	requests []*corev1.PodLogOptions
}

type answer struct {
	text string
	err  error
	// breaks is the error at the end of the text, instead of io.EOF.
	breaks error
}

func (k *kubelet) Log(_ context.Context, _, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.requests = append(k.requests, options.DeepCopy())
	name := pod + "/" + options.Container
	next := k.answers[name][0]
	k.answers[name] = k.answers[name][1:]
	if next.err != nil {
		return nil, next.err
	}
	end := next.breaks
	if end == nil {
		end = io.EOF
	}
	return io.NopCloser(io.MultiReader(strings.NewReader(next.text), broken{end})), nil
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

func all() logs.Options { return logs.Options{Tail: -1} }

func container(pod string) logs.Container {
	return logs.Container{Namespace: "shop", Pod: pod, Name: "main", Instance: "1"}
}

func TestLinesAreMergedByTime(t *testing.T) {
	k := &kubelet{answers: map[string][]answer{
		"a/main": {{text: "2026-03-01T12:00:01Z one\n2026-03-01T12:00:04Z four\n\tof four lines\n" +
			"2026-03-01T12:00:05.5Z six"}},
		"b/main": {{text: "2026-03-01T12:00:02Z two\n2026-03-01T12:00:03Z three\n2026-03-01T12:00:05Z five\n"}},
	}}
	for _, c := range []struct {
		name    string
		options logs.Options
		want    string
	}{
		{"without prefixes and timestamps", all(), "one\ntwo\nthree\nfour\n\tof four lines\nfive\nsix\n"},
	} {
		var out bytes.Buffer
		if err := logs.Print(t.Context(), k, []logs.Container{container("a"), container("b")}, c.options, &out, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, out.String()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestLinesTellWhoWroteThemAndWhen(t *testing.T) {
	k := &kubelet{answers: map[string][]answer{"a/main": {{text: "2026-03-01T12:00:01.5Z one\nno time\n"}}}}
	var out bytes.Buffer
	options := logs.Options{Tail: 7, Since: time.Minute, Prefix: true, Timestamps: true}
	if err := logs.Print(t.Context(), k, []logs.Container{container("a")}, options, &out, nil); err != nil {
		t.Fatal(err)
	}
	want := "[pod/a/main] 2026-03-01T12:00:01.5Z one\n[pod/a/main] no time\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	asked := &corev1.PodLogOptions{
		Container: "main", Timestamps: true, TailLines: new(int64(7)),
		SinceSeconds: new(int64(60)),
	}
	if diff := cmp.Diff(asked, k.requests[0]); diff != "" {
		t.Error(diff)
	}
}

func TestAConnectionThatBreaksIsTakenUpAfterTheLastLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kubelet{answers: map[string][]answer{"a/main": {
			{text: "2026-03-01T12:00:01.1Z one\n2026-03-01T12:00:01.2Z two\n", breaks: errors.New("cut")},
			{err: errors.New("no connection")},
			{text: "2026-03-01T12:00:01.1Z one\n2026-03-01T12:00:01.2Z two\n2026-03-01T12:00:01.3Z three\n"},
		}}}
		var out bytes.Buffer
		f := logs.NewFollower(k, logs.Options{Tail: 2}, 5, &out, func(err error) { t.Error(err) })
		if err := f.Add(t.Context(), []logs.Container{container("a")}, false); err != nil {
			t.Fatal(err)
		}
		f.Wait()
		if diff := cmp.Diff("one\ntwo\nthree\n", out.String()); diff != "" {
			t.Error(diff)
		}
		if last := k.requests[2]; last.TailLines != nil || last.SinceTime == nil {
			t.Errorf("want a request for lines since the last line, got %v", last)
		}
	})
}

func TestALogIsFollowedOnceAndInFullWhereItBeganLater(t *testing.T) {
	k := &kubelet{answers: map[string][]answer{"a/main": {{text: ""}}, "b/main": {{text: ""}}}}
	f := logs.NewFollower(k, logs.Options{Tail: 2}, 1, &bytes.Buffer{}, func(err error) { t.Error(err) })
	for range 2 {
		if err := f.Add(t.Context(), []logs.Container{container("a")}, false); err != nil {
			t.Fatal(err)
		}
	}
	f.Wait()
	if err := f.Add(t.Context(), []logs.Container{container("b")}, true); err != nil {
		t.Fatal(err)
	}
	f.Wait()
	if len(k.requests) != 2 || k.requests[0].TailLines == nil || k.requests[1].TailLines != nil {
		t.Errorf("only the first request may limit the number of lines, got %v", k.requests)
	}
}

func pod(edit func(*corev1.Pod)) *corev1.Pod {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u"},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "init"}},
			Containers:     []corev1.Container{{Name: "main"}, {Name: "proxy"}},
		},
		Status: corev1.PodStatus{
			InitContainerStatuses: []corev1.ContainerStatus{{
				Name:  "init",
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}},
			}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: running}, {Name: "proxy", State: running}},
		},
	}
	edit(p)
	return p
}

func TestContainersOfAPod(t *testing.T) {
	as := func(*corev1.Pod) {}
	for _, c := range []struct {
		name    string
		pod     *corev1.Pod
		options logs.Options
		want    []string
	}{
		{"the first container by default", pod(as), logs.Options{}, []string{"main u/0"}},
		{"the container in the annotation", pod(func(p *corev1.Pod) {
			p.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": "proxy"}
		}), logs.Options{}, []string{"proxy u/0"}},
		{"the named container", pod(as), logs.Options{Container: "init"}, []string{"init u/0"}},
		{"no container for an unknown name", pod(as), logs.Options{Container: "db"}, nil},
		{"all containers, in their order", pod(as), logs.Options{All: true}, []string{"init u/0", "main u/0", "proxy u/0"}},
		{"containers that have not started are omitted", pod(func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
		}), logs.Options{}, nil},
		{
			"the new instance of a container after a restart",
			pod(func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount = 2 }),
			logs.Options{},
			[]string{"main u/2"},
		},
		{"restarted containers, with their previous instance", pod(func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{}
		}), logs.Options{All: true, Previous: true}, []string{"main u/0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, s := range logs.Logged(c.pod, c.options) {
				got = append(got, s.Name+" "+s.Instance)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
