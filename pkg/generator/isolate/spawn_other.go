//go:build !linux

package isolate

import "os"

// spawner starts processes.
type spawner struct{}

func newSpawner() *spawner { return &spawner{} }

// start starts a child with the given descriptors and environment.
func (s *spawner) start(files []*os.File, environment []string) (*os.Process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return os.StartProcess(program, []string{program, childArgument},
		&os.ProcAttr{Dir: "/", Env: environment, Files: files})
}

func (s *spawner) close() {}

// lowerPriority does nothing: only Linux children lead a process group.
func lowerPriority(int) {}
