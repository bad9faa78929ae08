package svc

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

func TestTheProgramsOfTheReadmeCompileInAModuleOfTheirOwn(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	programs := regexp.MustCompile("(?s)```go\n(package main.*?)```").FindAllSubmatch(text, -1)
	if len(programs) != 2 {
		t.Fatalf("it has %d programs", len(programs))
	}
	for number, program := range programs {
		folder := t.TempDir()
		module := "module example.test/readme" + strconv.Itoa(number) + "\n\ngo 1.25\n\nrequire svc.dev/sdk/go v0.1.0\n\n" +
			"replace svc.dev/sdk/go => " + here + "\n"
		for name, content := range map[string][]byte{"go.mod": []byte(module), "main.go": program[1]} {
			if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, tool := range [][]string{{"go", "vet", "."}, {"gofmt", "-l", "."}} {
			command := exec.Command(tool[0], tool[1:]...)
			command.Dir = folder
			command.Env = append(os.Environ(), "GOPROXY=off", "GOTOOLCHAIN=local")
			if said, err := command.CombinedOutput(); err != nil || len(said) > 0 {
				t.Errorf("%v of program %d: %v\n%s", tool, number, err, said)
			}
		}
	}
}
