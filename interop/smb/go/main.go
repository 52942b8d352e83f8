// Go's go-smb2: what a person does with a share.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/hirochachacha/go-smb2"
)

var (
	port     = flag.Int("port", 445, "of the server")
	share    = flag.String("share", "", "with files")
	folder   = flag.String("folder", "", "of the share on the disk")
	user     = flag.String("user", "", "")
	password = flag.String("password", "", "")
)

// A test fails with what it returns.
func check(name string, test func() error) {
	if err := test(); err != nil {
		fmt.Printf("fail %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	fmt.Printf("pass %s\n", name)
}

func want(what string, got, wanted any) error {
	if fmt.Sprint(got) != fmt.Sprint(wanted) {
		return fmt.Errorf("%s is %.200v, not %.200v", what, got, wanted)
	}
	return nil
}

func content(length int) []byte {
	bytes := make([]byte, length)
	for i := range bytes {
		bytes[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return bytes
}

func login(dialect uint16, signed bool, name, secret string) (*smb2.Session, error) {
	connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		return nil, err
	}
	dialer := smb2.Dialer{
		Negotiator: smb2.Negotiator{RequireMessageSigning: signed, SpecifiedDialect: dialect},
		Initiator:  &smb2.NTLMInitiator{User: name, Password: secret},
	}
	return dialer.Dial(connection)
}

// A test with a mounted share.
func mounted(share string, dialect uint16, signed bool, test func(*smb2.Share) error) func() error {
	return func() error {
		session, err := login(dialect, signed, *user, *password)
		if err != nil {
			return err
		}
		defer session.Logoff()
		mount, err := session.Mount(share)
		if err != nil {
			return err
		}
		defer mount.Umount()
		return test(mount)
	}
}

func wrongPassword() error {
	_, err := login(0, false, *user, "wrong")
	var refused *smb2.ResponseError
	if !errors.As(err, &refused) {
		return fmt.Errorf("%v", err)
	}
	return want("the status", fmt.Sprintf("%X", refused.Code), "C000006D") // STATUS_LOGON_FAILURE
}

func shares() error {
	session, err := login(0, false, *user, *password)
	if err != nil {
		return err
	}
	defer session.Logoff()
	names, err := session.ListSharenames()
	if err == nil && !strings.Contains(strings.Join(names, "|"), *share) {
		err = fmt.Errorf("the shares are %v", names)
	}
	return err
}

func thereAndBack(name string) func(*smb2.Share) error {
	return func(mount *smb2.Share) error {
		wanted := content(3 << 20)
		if err := mount.WriteFile(name, wanted, 0o644); err != nil {
			return err
		}
		got, err := mount.ReadFile(name)
		if err != nil {
			return err
		}
		if !bytes.Equal(got, wanted) {
			return errors.New("the bytes differ")
		}
		return mount.Remove(name)
	}
}

func folders(mount *smb2.Share) error {
	if err := mount.MkdirAll(`go\a\b`, 0o755); err != nil {
		return err
	}
	for _, name := range []string{`go\a\one`, `go\a\two`} {
		if err := mount.WriteFile(name, []byte("12345"), 0o644); err != nil {
			return err
		}
	}
	entries, err := mount.ReadDir(`go\a`)
	if err != nil {
		return err
	}
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if err := want("the listing", names, "[b one two]"); err != nil {
		return err
	}
	info, err := mount.Stat(`go\a\one`)
	if err != nil {
		return err
	}
	if err := want("the size", info.Size(), 5); err != nil {
		return err
	}
	if err := mount.RemoveAll(`go\a`); err != nil {
		return err
	}
	_, err = os.Stat(filepath.Join(*folder, "go", "a"))
	return want("what is left", os.IsNotExist(err), true)
}

func renames(mount *smb2.Share) error {
	if err := mount.WriteFile("go before", []byte("before"), 0o644); err != nil {
		return err
	}
	if err := mount.Rename("go before", "go after"); err != nil {
		return err
	}
	if err := mount.WriteFile("go after", []byte("over"), 0o644); err != nil {
		return err
	}
	got, err := os.ReadFile(filepath.Join(*folder, "go after"))
	if err != nil {
		return err
	}
	if err := want("the content", string(got), "over"); err != nil {
		return err
	}
	return mount.Remove("go after")
}

func names(mount *smb2.Share) error {
	for _, name := range []string{strings.Repeat("n", 255), "größe 日本語 🗄"} {
		if err := mount.WriteFile(name, []byte(name), 0o644); err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(*folder, name))
		if err != nil {
			return err
		}
		if err := want("the content", string(got), name); err != nil {
			return err
		}
		if err := mount.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

func symbolicLink(mount *smb2.Share) error {
	target, link := filepath.Join(*folder, "go target"), filepath.Join(*folder, "go link")
	if err := os.WriteFile(target, []byte("kept"), 0o666); err != nil {
		return err
	}
	if err := os.Symlink("go target", link); err != nil {
		return err
	}
	if err := mount.Remove("go link"); err != nil {
		return err
	}
	if _, err := os.Lstat(link); !os.IsNotExist(err) {
		return fmt.Errorf("the link is still there (%v)", err)
	}
	return os.Remove(target)
}

func main() {
	flag.Parse()
	check("a wrong password", wrongPassword)
	check("the shares", shares)
	for dialect, name := range map[uint16]string{0x202: "2.0.2", 0x210: "2.1", 0x300: "3.0", 0x302: "3.0.2", 0x311: "3.1.1"} {
		check(name+" signed, 3 MB there and back", mounted(*share, dialect, true, thereAndBack("go file")))
	}
	check("3.0.2 encrypted, 3 MB there and back", mounted("sealed", 0x302, false, thereAndBack("go file")))
	check("3.1.1 encrypted, 3 MB there and back", mounted("sealed", 0x311, false, thereAndBack("go file")))
	check("folders", mounted(*share, 0, false, folders))
	check("renames and overwrites", mounted(*share, 0, false, renames))
	check("long and non-ASCII names", mounted(*share, 0, false, names))
	check("deletes a symbolic link, not its target", mounted(*share, 0, false, symbolicLink))
}
