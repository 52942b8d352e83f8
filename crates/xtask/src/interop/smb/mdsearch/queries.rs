//! Queries, and what each of them finds.

/// A query and the files that it finds.
pub struct SearchCase {
    pub query: &'static str,
    pub found: &'static [&'static str],
}

const fn case(query: &'static str, found: &'static [&'static str]) -> SearchCase {
    SearchCase { query, found }
}

const REPORT: &str = "en/Annual Report 2024.txt";
const BUDGET: &str = "en/annual budget.md";
const SUMMER: &str = "fr/Été à la plage.txt";
const TRANSFER: &str = "de/Überweisung März.md";
const YEAR: &str = "es/Año nuevo.html";
const RUSSIAN: &str = "ru/Отчёт.txt";
const ATHENS: &str = "el/Αθήνα.txt";
const TRAVEL: &str = "ja/旅行計画.txt";
const CHINESE: &str = "zh/预算表.txt";
const MINUTES: &str = "ko/회의록.txt";
const ARABIC: &str = "ar/تقرير.txt";
const HEBREW: &str = "he/שלום.txt";
const HINDI: &str = "hi/पत्र.txt";
const LETTER: &str = "docs/Letter.rtf";
const MAIL: &str = "docs/Mail.eml";
const INVOICE: &str = "docs/Invoice 17.pdf";
const CODE: &str = "code/main.rs";

pub const QUERIES: &[SearchCase] = &[
    // Names: case, accents, wildcards, words.
    case("kMDItemFSName==\"Annual Report 2024.txt\"", &[REPORT]),
    case("kMDItemFSName==\"annual report 2024.txt\"", &[]),
    case("kMDItemFSName==\"annual report 2024.txt\"c", &[REPORT]),
    case("kMDItemFSName==\"*annual*\"c", &[REPORT, BUDGET]),
    case("kMDItemFSName==\"annual*\"", &[BUDGET]),
    case("kMDItemFSName==\"*.md\"", &[BUDGET, TRANSFER]),
    case("kMDItemFSName==\"*report*2024*\"cd", &[REPORT]),
    case("kMDItemFSName==\"report*\"cdw", &[REPORT]),
    case("kMDItemFSName==\"eport*\"cdw", &[]),
    case("kMDItemDisplayName==\"*budget*\"cd", &[BUDGET]),
    case("_kMDItemFileName==\"budget*\"cdw", &[BUDGET]),
    case("kMDItemFSName==\"*ete*\"cd && kMDItemFSName==\"*plage*\"", &[SUMMER]),
    case("kMDItemFSName==\"*été*\"c", &[SUMMER]),
    case("kMDItemFSName==\"*ete a la*\"c", &[]),
    case("kMDItemFSName==\"*uberweisung*\"cd", &[TRANSFER]),
    case("kMDItemFSName==\"*ano nuevo*\"cd", &[YEAR]),
    case("kMDItemFSName==\"отчет*\"cd", &[RUSSIAN]),
    case("kMDItemFSName==\"ОТЧЁТ*\"c", &[RUSSIAN]),
    case("kMDItemFSName==\"ΑΘΗΝΑ*\"cd", &[ATHENS]),
    case("kMDItemFSName==\"*計画*\"", &[TRAVEL]),
    case("kMDItemFSName==\"旅行*\"cdw", &[TRAVEL]),
    case("kMDItemFSName==\"*预算*\"cd", &[CHINESE]),
    case("kMDItemFSName==\"회의*\"cd", &[MINUTES]),
    case("kMDItemFSName==\"تقرير*\"cd", &[ARABIC]),
    case("kMDItemFSName==\"שלום*\"cd", &[HEBREW]),
    case("kMDItemFSName==\"पत्र*\"c", &[HINDI]),
    // Characters with a meaning.
    case("kMDItemFSName==\"x\\*x.txt\"", &["odd/x*x.txt"]),
    case("kMDItemFSName==\"x?x.txt\"", &["odd/x?x.txt"]),
    case("kMDItemFSName==\"x(x.txt\"", &["odd/x(x.txt"]),
    case("kMDItemFSName==\"x=x.txt\"", &["odd/x=x.txt"]),
    case("kMDItemFSName==\"x x.txt\"", &["odd/x x.txt"]),
    // Types.
    case("kMDItemContentType==\"com.adobe.pdf\"", &[INVOICE]),
    case("kMDItemContentTypeTree==\"com.adobe.pdf\"", &[INVOICE]),
    case("_kMDItemGroupId==11", &[INVOICE]),
    case("_kMDItemGroupId==\"1\"", &[MAIL]),
    case("kMDItemContentTypeTree==\"public.source-code\"", &[CODE]),
    case("kMDItemContentTypeTree==\"public.html\"", &[YEAR]),
    case("kMDItemContentTypeTree==\"public.email-message\"", &[MAIL]),
    case("kMDItemContentTypeTree==\"public.image\"", &[]),
    case("kMDItemContentTypeTree==\"public.folder\" && kMDItemFSName==\"docs\"", &["docs"]),
    case("kMDItemContentTypeTree!=\"public.folder\" && kMDItemFSName==\"*17*\"", &[INVOICE]),
    // Sizes and dates.
    case("kMDItemFSSize==5000", &["docs/large.bin"]),
    case("kMDItemFSSize>4999", &["docs/large.bin"]),
    case("kMDItemFSSize==\"0\"", &["docs/empty.txt"]),
    case("InRange(kMDItemFSSize,4999,5001)", &["docs/large.bin"]),
    case("kMDItemFSSize>=5000 && kMDItemFSSize<=5000", &["docs/large.bin"]),
    case("kMDItemFSContentChangeDate<$time.iso(2001-01-03T00:00:00Z)", &[BUDGET]),
    case("kMDItemFSContentChangeDate==\"86400\"", &[BUDGET]),
    case("InRange(kMDItemContentModificationDate,86400,86400)", &[BUDGET]),
    case("kMDItemFSContentChangeDate<$time.now(-31536000)", &[BUDGET]),
    case("kMDItemFSContentChangeDate>=$time.today(-2) && kMDItemFSName==\"*.rs\"", &[CODE]),
    case("kMDItemFSContentChangeDate>$time.now(86400)", &[]),
    // And, or, not, parentheses; attributes that no file has.
    case("kMDItemFSName==\"*.pdf\" || kMDItemFSName==\"*.rtf\"", &[INVOICE, LETTER]),
    case("(kMDItemFSName==\"*.pdf\" || kMDItemFSName==\"*.rtf\") && kMDItemFSName==\"*letter*\"c", &[LETTER]),
    case("kMDItemFSName==\"annual*\"c && kMDItemFSName!=\"*.md\"", &[REPORT]),
    case("!(kMDItemFSName==\"*.md\") && kMDItemFSName==\"annual*\"c", &[REPORT]),
    case("kMDItemFSName==\"*.rs\" && kMDItemSupportFileType!=\"MDSystemFile\"", &[CODE]),
    case("kMDItemSupportFileType==\"MDSystemFile\"", &[]),
    case("kMDItemUserTags==\"*\"", &[]),
    // As Finder joins them.
    case("(*==\"plage*\"cdw||kMDItemTextContent==\"plage*\"cd)", &[SUMMER]),
    case("**==\"miete*\"cdw||_kMDItemFileName==\"*uberweisung*\"cwdt", &[TRANSFER]),
    case("kMDItemDisplayName=='*.html'c && kMDItemContentTypeTree=='public.text'", &[YEAR]),
    case("kMDItemFSCreationDate>$time.iso(2001-01-01T00:00:00Z) && kMDItemFSName==\"main.rs\"", &[CODE]),
    case(
        "InRange(kMDItemFSContentChangeDate,$time.iso(2001-01-01T00:00:00Z),$time.iso(2001-12-31T00:00:00Z))",
        &[BUDGET],
    ),
    case("kMDItemFSName==\"*report*\"cd && InRange(kMDItemFSSize,1,100)", &[REPORT]),
];
