//! IOCTL through the harness; statuses by MS-SMB2 3.3.5.15.

use wire::{Reader, Writer};

use crate::client::Offer;
use crate::server::testing::{ADA, User, service, service_with};
use crate::wire::create_context::request::Context as CreateContext;
use crate::wire::fsctl::Code;
use crate::wire::fsctl::copy::{Chunk, CopyChunk, CopyChunkResponse, ResumeKey};
use crate::wire::fsctl::negotiate::{Resiliency, ValidateRequest, ValidateResponse};
use crate::wire::fsctl::ranges::{AllocatedRange, SetSparse, ZeroData};
use crate::wire::ioctl::{Request, Response};
use crate::wire::{Capabilities, Command, Dialect, FileKey, Status, create};

/// Sends a control code with this input; answers the status and the output.
async fn control(
    user: &mut User,
    code: Code,
    file: FileKey,
    room: u32,
    input: impl FnOnce(&mut Writer),
) -> (Status, Vec<u8>) {
    let mut w = Writer::new();
    input(&mut w);
    let request = Request {
        control_code: code,
        file,
        input: 0..0,
        max_input_response: 0,
        max_output_response: room,
        flags: Request::IS_FSCTL,
    };
    let answer = user.call(Command::IOCTL, |out| request.encode(w.as_bytes(), out)).await;
    let output = Response::decode(&answer.message).map(|response| response.output).unwrap_or_default();
    (answer.status(), output)
}

/// Two files, and the first one's key as a source.
async fn files(user: &mut User) -> (ResumeKey, FileKey) {
    let source = user.make("from", &[7; 8192]).await;
    let target = user.make("to", b"").await;
    let (status, output) = control(user, Code::SRV_REQUEST_RESUME_KEY, source, 32, |_| ()).await;
    assert_eq!((status, output.len()), (Status::SUCCESS, 32));
    (ResumeKey::decode(&mut Reader::new(&output)).unwrap(), target)
}

fn chunk(source_offset: u64, target_offset: u64, length: u32) -> Chunk {
    Chunk { source_offset, target_offset, length }
}

async fn copy(user: &mut User, source: ResumeKey, target: FileKey, chunks: &[Chunk]) -> (Status, [u32; 3]) {
    let copy = CopyChunk { source, chunks: chunks.to_vec() };
    let (status, output) = control(user, Code::SRV_COPYCHUNK, target, 12, |w| copy.encode(w)).await;
    let done = CopyChunkResponse::decode(&mut Reader::new(&output)).unwrap();
    (status, [done.chunks_written, done.chunk_bytes_written, done.total_bytes_written])
}

#[tokio::test]
async fn pieces_are_copied_until_one_lies_beyond_the_source() {
    let mut ada = User::new(&service()).await;
    let (source, target) = files(&mut ada).await;
    let (status, done) = copy(&mut ada, source, target, &[chunk(0, 0, 4096), chunk(0, 4096, 8192)]).await;
    assert_eq!((status, done), (Status::SUCCESS, [2, 0, 12288]));
    let (status, done) = copy(&mut ada, source, target, &[chunk(0, 0, 4096), chunk(4096, 0, 8192)]).await;
    assert_eq!((status, done), (Status(0xC000_001F), [1, 0, 4096]));
}

#[tokio::test]
async fn copies_above_the_limits_are_answered_with_the_limits() {
    let mut ada = User::new(&service()).await;
    let (source, target) = files(&mut ada).await;
    let limits = (Status::INVALID_PARAMETER, [256, 1 << 20, 16 << 20]);
    assert_eq!(copy(&mut ada, source, target, &[chunk(0, 0, u32::MAX)]).await, limits);
    assert_eq!(copy(&mut ada, source, target, &[chunk(0, 0, 0)]).await, limits);
    assert_eq!(copy(&mut ada, source, target, &[chunk(0, 0, 1); 257]).await, limits);
}

#[tokio::test]
async fn a_key_that_nobody_gave_out_names_no_file() {
    let mut ada = User::new(&service()).await;
    let (_, target) = files(&mut ada).await;
    let copy = CopyChunk { source: ResumeKey([9; 24]), chunks: vec![chunk(0, 0, 1)] };
    let (status, _) = control(&mut ada, Code::SRV_COPYCHUNK, target, 12, |w| copy.encode(w)).await;
    assert_eq!(status, Status::OBJECT_NAME_NOT_FOUND);
}

#[tokio::test]
async fn what_is_zeroed_in_a_sparse_file_takes_no_space() {
    let mut ada = User::new(&service()).await;
    let file = ada.make("holes", &[1; 16384 * 3]).await;
    let all = AllocatedRange { file_offset: 0, length: 1 << 40 };
    let zero = ZeroData { file_offset: 16384, beyond_final_zero: 32768 };
    let mut ranges = Vec::new();
    for sparse in [false, true] {
        control(&mut ada, Code::SET_SPARSE, file, 0, |w| SetSparse(sparse).encode(w)).await;
        let (status, _) = control(&mut ada, Code::SET_ZERO_DATA, file, 0, |w| zero.encode(w)).await;
        assert_eq!(status, Status::SUCCESS);
        let (status, output) =
            control(&mut ada, Code::QUERY_ALLOCATED_RANGES, file, 1024, |w| all.encode(w)).await;
        assert_eq!(status, Status::SUCCESS);
        let found = AllocatedRange::decode_all(&mut Reader::new(&output)).unwrap();
        ranges.push(found.iter().map(|range| (range.file_offset, range.length)).collect::<Vec<_>>());
    }
    assert_eq!(ranges[0], [(0, 49152)], "of a file that is not sparse all is allocated");
    assert_eq!(ranges[1], [(0, 16384), (32768, 16384)]);
}

#[tokio::test]
async fn numbers_that_are_no_range_are_refused() {
    let mut ada = User::new(&service()).await;
    let file = ada.make("file", b"abc").await;
    for (file_offset, beyond_final_zero) in [(-1, 1), (2, 1)] {
        let zero = ZeroData { file_offset, beyond_final_zero };
        let (status, _) = control(&mut ada, Code::SET_ZERO_DATA, file, 0, |w| zero.encode(w)).await;
        assert_eq!(status, Status::INVALID_PARAMETER);
    }
    let beyond = AllocatedRange { file_offset: 1, length: i64::MAX };
    let (status, _) = control(&mut ada, Code::QUERY_ALLOCATED_RANGES, file, 1024, |w| beyond.encode(w)).await;
    assert_eq!(status, Status::INVALID_PARAMETER);
}

#[tokio::test]
async fn a_negotiation_that_was_tampered_with_ends_the_connection() {
    let service = service_with(|config| config.directory_leases = false);
    let offer = Offer::of(Dialect::SMB_3_0_2);
    let mut ada = User::with(&service, &offer, ADA, "share").await;
    let honest = ValidateRequest {
        capabilities: offer.capabilities.0,
        client_guid: offer.guid,
        security_mode: offer.security_mode.0,
        dialects: vec![0x0302],
    };
    let code = Code::VALIDATE_NEGOTIATE_INFO;
    let (status, output) = control(&mut ada, code, FileKey::ALL_ONES, 24, |w| honest.encode(w)).await;
    let response = ValidateResponse::decode(&mut Reader::new(&output)).unwrap();
    assert_eq!(
        (status, response.dialect, response.server_guid),
        (Status::SUCCESS, 0x0302, *b"the server's gui")
    );
    let agreed = ada.client.agreed.as_ref().unwrap().capabilities;
    assert_eq!(response.capabilities, agreed.0);
    assert!(!agreed.contains(Capabilities::DIRECTORY_LEASING));
    let newer = ValidateRequest { dialects: vec![0x0302, 0x0311], ..honest };
    let mut w = Writer::new();
    newer.encode(&mut w);
    let request = Request {
        control_code: code,
        file: FileKey::ALL_ONES,
        input: 0..0,
        max_input_response: 0,
        max_output_response: 24,
        flags: Request::IS_FSCTL,
    };
    ada.start(Command::IOCTL, |out| request.encode(w.as_bytes(), out)).await;
    assert!(ada.client.link.is_over());
}

#[tokio::test]
async fn there_are_no_referrals_and_what_nobody_knows_is_refused() {
    let mut ada = User::new(&service()).await;
    let file = ada.make("file", b"abc").await;
    let all = FileKey::ALL_ONES;
    assert_eq!(
        control(&mut ada, Code::DFS_GET_REFERRALS, all, 1024, |_| ()).await.0,
        Status::FS_DRIVER_REQUIRED
    );
    assert_eq!(control(&mut ada, Code(0x0009_FFFC), file, 0, |_| ()).await.0, Status::INVALID_DEVICE_REQUEST);
}

// MS-SMB2 3.3.5.15.9 and 3.3.5.9.7.
#[tokio::test]
async fn a_resilient_open_waits_for_its_client_without_any_cache() {
    let service = service();
    let mut ada = User::new(&service).await;
    let file = ada.make("notes", b"abc").await;
    let code = Code::LMR_REQUEST_RESILIENCY;
    let too_long = Resiliency { timeout_ms: 300_001 };
    assert_eq!(control(&mut ada, code, file, 0, |w| too_long.encode(w)).await.0, Status::INVALID_PARAMETER);
    let asked = Resiliency { timeout_ms: 10_000 };
    assert_eq!(control(&mut ada, code, file, 0, |w| asked.encode(w)).await.0, Status::SUCCESS);
    drop(ada);
    let mut ada = User::new(&service).await;
    let back = |request: &mut create::Request<'_>| {
        request.contexts = vec![CreateContext::DurableReconnect(file).encode()]
    };
    let again = ada.open("notes", back).await.unwrap().file;
    assert_eq!(ada.read(again, 0, 9).await.unwrap(), b"abc");
}
