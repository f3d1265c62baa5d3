package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/fairlead-io/fairlead/test/program"
)

// startProfile collects a CPU profile of the operator until the returned function is called, which writes this profile
// and a heap profile. It does nothing if no profiles are requested. Profiling makes the operator slightly slower.
func (s *stage) startProfile(ctx context.Context, name string) (finish func() error) {
	if s.profiles == "" {
		return func() error { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	o := s.operator
	var second []*profile.Profile
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		// Each profile covers one second, because an interrupted profile is lost and the duration of the work is not known.
		for {
			p, err := fetchProfile(ctx, "http://"+o.profile+"/debug/pprof/profile?seconds=1")
			if err == nil {
				second = append(second, p)
			}
			select {
			case <-stop:
				done <- err
				return
			default:
			}
			if err != nil {
				done <- err
				return
			}
		}
	}()
	return func() error {
		defer cancel()
		close(stop)
		if err := <-done; err != nil && len(second) == 0 {
			return fmt.Errorf("profile the operator: %w", err)
		}
		cpu, err := profile.Merge(second)
		if err != nil {
			return fmt.Errorf("profile the operator: %w", err)
		}
		heap, err := fetchProfile(ctx, "http://"+s.operator.profile+"/debug/pprof/heap?gc=1")
		if err != nil {
			return fmt.Errorf("profile the operator's heap: %w", err)
		}
		return errors.Join(s.writeProfile(name+"-cpu", cpu), s.writeProfile(name+"-heap", heap))
	}
}

func fetchProfile(ctx context.Context, url string) (*profile.Profile, error) {
	body, err := program.Get(ctx, url)
	if err != nil {
		return nil, err
	}
	return profile.Parse(strings.NewReader(body))
}

func (s *stage) writeProfile(name string, p *profile.Profile) error {
	if err := os.MkdirAll(s.profiles, 0o755); err != nil {
		return err
	}
	return writeFile(filepath.Join(s.profiles, name+".pb.gz"), p.Write)
}

// writeFile replaces a file by the output of write.
func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
