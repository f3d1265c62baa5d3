//go:build !long

package faults_test

// defaultSeeds is how many seeds a normal run plays.
const defaultSeeds = 15
