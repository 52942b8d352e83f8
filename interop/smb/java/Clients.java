// Java's smbj and jcifs-ng: what a person does with a share. The first argument says which.

import com.hierynomus.msdtyp.AccessMask;
import com.hierynomus.mserref.NtStatus;
import com.hierynomus.mssmb2.SMB2CreateDisposition;
import com.hierynomus.mssmb2.SMB2Dialect;
import com.hierynomus.mssmb2.SMB2ShareAccess;
import com.hierynomus.mssmb2.SMBApiException;
import com.hierynomus.msfscc.fileinformation.FileStandardInformation;
import com.hierynomus.smbj.SMBClient;
import com.hierynomus.smbj.SmbConfig;
import com.hierynomus.smbj.auth.AuthenticationContext;
import com.hierynomus.smbj.share.DiskEntry;
import com.hierynomus.smbj.share.DiskShare;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import jcifs.CIFSContext;
import jcifs.config.PropertyConfiguration;
import jcifs.context.BaseContext;
import jcifs.smb.NtlmPasswordAuthenticator;
import jcifs.smb.SmbAuthException;
import jcifs.smb.SmbFile;

/** The words that the checks of both libraries are written in. */
public class Clients {
    interface Test {
        void run() throws Exception;
    }

    static final Map<String, String> ARGUMENTS = new HashMap<>();
    static final List<String> NAMES = List.of("j".repeat(255), "größe 日本語 🗄");

    static String argument(String name) {
        return ARGUMENTS.get(name);
    }

    static int port() {
        return Integer.parseInt(argument("port"));
    }

    static Path stored(String name) {
        return Path.of(argument("folder"), name);
    }

    static boolean exists(String name) {
        return Files.exists(stored(name), LinkOption.NOFOLLOW_LINKS);
    }

    static void check(String name, Test test) {
        try {
            test.run();
            System.out.println("pass " + name);
        } catch (Throwable error) {
            System.out.println("fail " + name + ": " + error.toString().replaceAll("\\s+", " "));
        }
    }

    static void is(Object got, Object wanted) {
        if (!got.equals(wanted)) {
            throw new AssertionError("is " + got + ", not " + wanted);
        }
    }

    static byte[] content(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i ^ i >> 8 ^ i >> 16);
        }
        return bytes;
    }

    static void linkTo(String target, String link) throws Exception {
        Files.writeString(stored(target), "kept");
        Files.createSymbolicLink(stored(link), Path.of(target));
    }

    public static void main(String[] arguments) {
        for (int at = 1; at + 1 < arguments.length; at += 2) {
            ARGUMENTS.put(arguments[at].substring(2), arguments[at + 1]);
        }
        switch (arguments[0]) {
            case "smbj" -> Smbj.run();
            case "jcifs-ng" -> Jcifs.run();
            default -> throw new IllegalArgumentException(arguments[0]);
        }
        System.exit(0);
    }
}

class Smbj extends Clients {
    interface Use {
        void of(DiskShare share) throws Exception;
    }

    static void mounted(SmbConfig config, AuthenticationContext who, String name, Use use) throws Exception {
        try (SMBClient client = new SMBClient(config);
             var session = client.connect("127.0.0.1", port()).authenticate(who);
             DiskShare share = (DiskShare) session.connectShare(name)) {
            use.of(share);
        }
    }

    static AuthenticationContext who(String password) {
        return new AuthenticationContext(argument("user"), password.toCharArray(), "");
    }

    static Test with(SmbConfig config, String share, Use use) {
        return () -> mounted(config, who(argument("password")), share, use);
    }

    static Test with(Use use) {
        return with(SmbConfig.createDefaultConfig(), argument("share"), use);
    }

    static void write(DiskShare share, String name, byte[] content) throws Exception {
        var access = EnumSet.of(AccessMask.GENERIC_WRITE);
        try (var file = share.openFile(name, access, null, SMB2ShareAccess.ALL, SMB2CreateDisposition.FILE_OVERWRITE_IF, null);
             OutputStream out = file.getOutputStream()) {
            out.write(content);
        }
    }

    static void wrongPassword() throws Exception {
        try {
            mounted(SmbConfig.createDefaultConfig(), who("wrong"), argument("share"), share -> { });
        } catch (SMBApiException error) {
            is(error.getStatus(), NtStatus.STATUS_LOGON_FAILURE);
            return;
        }
        throw new AssertionError("it may enter");
    }

    static void thereAndBack(DiskShare share) throws Exception {
        byte[] wanted = content(3 << 20);
        write(share, "smbj file", wanted);
        var access = EnumSet.of(AccessMask.GENERIC_READ);
        try (var file = share.openFile("smbj file", access, null, SMB2ShareAccess.ALL, SMB2CreateDisposition.FILE_OPEN, null);
             InputStream in = file.getInputStream()) {
            is(Arrays.equals(in.readAllBytes(), wanted), true);
        }
        share.rm("smbj file");
    }

    static void folders(DiskShare share) throws Exception {
        share.mkdir("smbj");
        for (String name : List.of("one", "two")) {
            write(share, "smbj\\" + name, "12345".getBytes());
        }
        var names = new TreeSet<String>();
        share.list("smbj").forEach(entry -> names.add(entry.getFileName()));
        is(names, new TreeSet<>(List.of(".", "..", "one", "two")));
        is(share.getFileInformation("smbj\\one", FileStandardInformation.class).getEndOfFile(), 5L);
        is(share.folderExists("smbj"), true);
        share.rmdir("smbj", true);
        is(exists("smbj"), false);
    }

    static void rename(DiskShare share, String from, String to) {
        var access = EnumSet.of(AccessMask.DELETE, AccessMask.FILE_READ_ATTRIBUTES);
        try (DiskEntry file = share.open(from, access, null, SMB2ShareAccess.ALL, SMB2CreateDisposition.FILE_OPEN, null)) {
            file.rename(to, true);
        }
    }

    static void renames(DiskShare share) throws Exception {
        write(share, "smbj before", "before".getBytes());
        write(share, "smbj after", "longer than before".getBytes());
        rename(share, "smbj before", "smbj after");
        is(Files.readString(stored("smbj after")), "before");
        write(share, "smbj after", "over".getBytes());
        is(Files.readString(stored("smbj after")), "over");
        share.rm("smbj after");
    }

    static void names(DiskShare share) throws Exception {
        for (String name : NAMES) {
            write(share, name, new byte[1]);
            is(exists(name), true);
            share.rm(name);
            is(exists(name), false);
        }
    }

    static void symbolicLink(DiskShare share) throws Exception {
        linkTo("smbj target", "smbj link");
        share.rm("smbj link");
        is(List.of(exists("smbj link"), exists("smbj target")), List.of(false, true));
    }

    static void run() {
        check("a wrong password", Smbj::wrongPassword);
        check("a guest", () ->
            mounted(SmbConfig.createDefaultConfig(), AuthenticationContext.guest(), "guests", share -> share.list("")));
        check("SMB1 becomes SMB2", with(SmbConfig.builder().withMultiProtocolNegotiate(true).build(), argument("share"),
            share -> share.list("")));
        for (SMB2Dialect dialect : List.of(SMB2Dialect.SMB_2_0_2, SMB2Dialect.SMB_2_1, SMB2Dialect.SMB_3_0, SMB2Dialect.SMB_3_0_2, SMB2Dialect.SMB_3_1_1)) {
            var signed = SmbConfig.builder().withDialects(dialect).withSigningRequired(true).build();
            check(dialect + " signed, 3 MB there and back", with(signed, argument("share"), Smbj::thereAndBack));
        }
        for (SMB2Dialect dialect : List.of(SMB2Dialect.SMB_3_0_2, SMB2Dialect.SMB_3_1_1)) {
            var encrypted = SmbConfig.builder().withDialects(dialect).withEncryptData(true).build();
            check(dialect + " encrypted, 3 MB there and back", with(encrypted, "sealed", Smbj::thereAndBack));
        }
        check("folders", with(Smbj::folders));
        check("renames and overwrites", with(Smbj::renames));
        check("long and non-ASCII names", with(Smbj::names));
        check("deletes a symbolic link, not its target", with(Smbj::symbolicLink));
    }
}

class Jcifs extends Clients {
    static CIFSContext context(String password, String... settings) throws Exception {
        Properties properties = new Properties();
        properties.put("jcifs.smb.client.responseTimeout", "10000");
        for (int at = 0; at < settings.length; at += 2) {
            properties.put("jcifs.smb.client." + settings[at], settings[at + 1]);
        }
        return new BaseContext(new PropertyConfiguration(properties))
            .withCredentials(new NtlmPasswordAuthenticator("", argument("user"), password));
    }

    static SmbFile file(CIFSContext context, String path) throws Exception {
        return new SmbFile("smb://127.0.0.1:" + port() + "/" + path, context);
    }

    static SmbFile file(String name) throws Exception {
        return file(context(argument("password")), argument("share") + "/" + name);
    }

    static void write(SmbFile file, byte[] content) throws Exception {
        try (OutputStream out = file.openOutputStream()) {
            out.write(content);
        }
    }

    static void wrongPassword() throws Exception {
        try (SmbFile folder = file(context("wrong"), argument("share") + "/")) {
            folder.list();
        } catch (SmbAuthException error) {
            is(error.getNtStatus(), 0xC000006D); // STATUS_LOGON_FAILURE
            return;
        }
        throw new AssertionError("it may enter");
    }

    static void guest() throws Exception {
        CIFSContext guest = context("").withGuestCrendentials();
        try (SmbFile folder = file(guest, "guests/")) {
            folder.list();
        }
    }

    static Test thereAndBack(String share, String... settings) {
        return () -> {
            byte[] wanted = content(3 << 20);
            try (SmbFile file = file(context(argument("password"), settings), share + "/jcifs file")) {
                write(file, wanted);
                try (InputStream in = file.openInputStream()) {
                    is(Arrays.equals(in.readAllBytes(), wanted), true);
                }
                file.delete();
            }
        };
    }

    static void folders() throws Exception {
        file("jcifs/").mkdir();
        for (String name : List.of("one", "two")) {
            write(file("jcifs/" + name), "12345".getBytes());
        }
        is(new TreeSet<>(Arrays.asList(file("jcifs/").list())), new TreeSet<>(List.of("one", "two")));
        is(file("jcifs/one").length(), 5L);
        is(file("jcifs/").isDirectory(), true);
        file("jcifs/").delete();
        is(exists("jcifs"), false);
    }

    static void renames() throws Exception {
        write(file("jcifs before"), "before".getBytes());
        write(file("jcifs after"), "longer than before".getBytes());
        file("jcifs before").renameTo(file("jcifs after"), true);
        is(Files.readString(stored("jcifs after")), "before");
        write(file("jcifs after"), "over".getBytes());
        is(Files.readString(stored("jcifs after")), "over");
        file("jcifs after").delete();
    }

    static void names() throws Exception {
        for (String name : NAMES) {
            write(file(name), new byte[1]);
            is(exists(name), true);
            file(name).delete();
            is(exists(name), false);
        }
    }

    static void symbolicLink() throws Exception {
        linkTo("jcifs target", "jcifs link");
        file("jcifs link").delete();
        is(List.of(exists("jcifs link"), exists("jcifs target")), List.of(false, true));
    }

    static void run() {
        check("a wrong password", Jcifs::wrongPassword);
        check("a guest", Jcifs::guest);
        check("SMB1 becomes SMB2", thereAndBack(argument("share"), "minVersion", "SMB1", "maxVersion", "SMB311"));
        for (String dialect : List.of("SMB202", "SMB210", "SMB300", "SMB302", "SMB311")) {
            check(dialect + " signed, 3 MB there and back", thereAndBack(argument("share"),
                "minVersion", dialect, "maxVersion", dialect, "signingEnforced", "true"));
        }
        check("folders", Jcifs::folders);
        check("renames and overwrites", Jcifs::renames);
        check("long and non-ASCII names", Jcifs::names);
        check("deletes a symbolic link, not its target", Jcifs::symbolicLink);
    }
}
