package isolate

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// nicenesses returns the different priorities of the threads of a process, and of its session.
func nicenesses(t *testing.T, pid int) (threads map[int]bool, session string) {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	threads = map[int]bool{}
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		// The system call returns 20 minus the value, so that it is never negative.
		value, err := unix.Getpriority(unix.PRIO_PROCESS, id)
		if err != nil {
			t.Fatal(err)
		}
		threads[20-value] = true
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", pid))
	if err != nil || os.Geteuid() != 0 {
		// Without privileges the kernel refuses changes in quick succession.
		return threads, ""
	}
	_, session, _ = strings.Cut(strings.TrimSpace(string(text)), " nice ")
	return threads, session
}

func TestTheChildOfALongRenderingHasTheLeastPriorityAndIsReplaced(t *testing.T) {
	g := newGenerator(t)
	p, err := g.take(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	expect := func(niceness int, ofSession string) {
		t.Helper()
		threads, session := nicenesses(t, p.process.Pid)
		if len(threads) != 1 || !threads[niceness] {
			t.Errorf("nice values of the threads: %v, want only %d", threads, niceness)
		}
		if session != "" && session != ofSession {
			t.Errorf("nice value of the session: %s, want %s", session, ofSession)
		}
	}
	expect(10, "0")
	p.lower()
	expect(19, "10")
	g.give(p, "shop", 0)
	if <-p.ended; len(g.idle) != 0 {
		t.Error("the child is used again")
	}
}
